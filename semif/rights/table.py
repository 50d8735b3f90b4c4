"""The one table of rights: what the commands call in AWS, on which resources, and for which task.

docs/deploying.md shows it and the policies of `semif iam` are made of it; tests compare both, and compare it
with every call of boto3 in the toolkit. What the roles of builds and containers may do is in the constructs.
"""

from semif.rights.right import Right
from semif.rights.rows.asking import ASKING
from semif.rights.rows.checking import CHECKING
from semif.rights.rows.deploying import DEPLOYING
from semif.rights.rows.tending import TENDING

RIGHTS: tuple[Right, ...] = (*DEPLOYING, *ASKING, *CHECKING, *TENDING)
"""In the order of the page."""

OF_NO_ENVIRONMENT = {
    "ecr:GetAuthorizationToken": "`semif image pin --region`, on a maintainer's machine",
    "sts:GetCallerIdentity": "everybody may",
}
"""What is called, and belongs into no environment's policy, with the reason."""
