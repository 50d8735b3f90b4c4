"""A policy of a role that may be somebody else's."""

from collections.abc import Sequence

from aws_cdk import Names
from aws_cdk import aws_iam as iam
from constructs import Construct

_MAX_NAME = 128
"""Of an inline policy (IAM's API reference, PutRolePolicy, read 2026-11-30)."""


def role_policy(
    scope: Construct, construct_id: str, role: iam.IRole, statements: Sequence[iam.PolicyStatement] = ()
) -> iam.Policy:
    """An inline policy of `role`.

    The CDK names it after its place in the stack alone. On a role that is there already, the policies of two
    stacks would so have one name, and the last stack to be deployed or deleted would take it: there the name
    holds the stack's.
    """
    return iam.Policy(
        scope,
        construct_id,
        policy_name=None if isinstance(role, iam.Role) else f"{_place(scope, construct_id)}-{construct_id}",
        roles=[role],
        statements=list(statements),
    )


def _place(scope: Construct, construct_id: str) -> str:
    return Names.unique_resource_name(
        scope,
        allowed_special_characters="-",
        max_length=_MAX_NAME - len(construct_id) - 1,
        separator="-",
    )
