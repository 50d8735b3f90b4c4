"""What IAM says of calls of CloudFormation, which moto answers whoever asks."""

from fnmatch import fnmatchcase
from typing import Any

from botocore.awsrequest import AWSResponse
from botocore.model import OperationModel

from semif.aws.clients import Aws
from semif.rights.policies import Document


def enforce(aws: Aws, account: str, *policies: Document) -> None:
    """Refuse every call of `aws` to CloudFormation that no statement of `policies` allows.

    A call that gives a stack's name is on `stack/NAME/*`, whatever its id; DescribeStacks without a name is
    on `stack/*/*`, and asks for ListStacks too (that in botocore's model of it; the resources as AWS's
    refusals name them, in reports of aws-hpc-tutorials, 271, and cloudstructs, 215; read 2026-12-01).
    """

    def answer(
        model: OperationModel, params: dict[str, Any], **_: object
    ) -> tuple[AWSResponse, dict[str, Any]] | None:
        name = params["body"].get("StackName")
        actions = [model.name, *(["ListStacks"] if model.name == "DescribeStacks" and name is None else [])]
        prefix = f"arn:aws:cloudformation:{aws.region}:{account}:stack/"
        resource = f"{prefix}*/*" if name is None else name if ":" in name else f"{prefix}{name}/*"
        for action in actions:
            if not _allows(policies, f"cloudformation:{action}", resource):
                said = f"not authorized to perform: cloudformation:{action} on resource: {resource}"
                return AWSResponse("", 403, {}, None), {"Error": {"Code": "AccessDenied", "Message": said}}
        return None

    aws.cloudformation.meta.events.register_first("before-call.cloudformation", answer)


def _allows(policies: tuple[Document, ...], action: str, resource: str) -> bool:
    return any(
        action in statement["Action"]
        and any(fnmatchcase(resource, pattern) for pattern in statement["Resource"])
        for document in policies
        for statement in document["Statement"]
    )
