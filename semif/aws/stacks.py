"""CloudFormation stacks as the commands need them: what is there, what it says, and its end."""

import time
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from semif.aws.clients import Aws, aws_errors
from semif.aws.s3 import delete_versions
from semif.errors import SemifError

if TYPE_CHECKING:
    from mypy_boto3_cloudformation.type_defs import StackEventTypeDef
    from mypy_boto3_s3 import S3Client

_TOOLKIT_STACK = "CDKToolkit"

_DELETE_SECONDS = 3600
_DELETING = "DELETE_IN_PROGRESS"
_NOT_EMPTY = "not empty"
"""In what S3 says of a bucket that cannot be deleted, which CloudFormation hands on."""


@dataclass(frozen=True)
class Stack:
    """One stack: its CloudFormation status, the reason CloudFormation gives for it, and its outputs."""

    name: str
    id: str
    status: str
    reason: str
    outputs: Mapping[str, str]

    def output(self, key: str) -> str:
        """The value of an output; raises SemifError where the stack has none of that name."""
        try:
            return self.outputs[key]
        except KeyError:
            raise SemifError(f"the stack {self.name} has no output {key}; deploy it again") from None


class NotDeletedError(SemifError):
    """A stack could not be deleted: `resources` of it would not go, ids with their types."""

    def __init__(self, message: str, resources: Mapping[str, str]) -> None:
        super().__init__(message)
        self.resources = resources


class BucketNotEmptyError(NotDeletedError):
    """One of them is a bucket that still holds something."""


def toolkit_stack(qualifier: str | None) -> str:
    """Name of what `cdk bootstrap` makes, once per account, region and qualifier; None: the CDK's own."""
    return _TOOLKIT_STACK if qualifier is None else f"{_TOOLKIT_STACK}-{qualifier}"


def bootstrap_options(qualifier: str | None) -> list[str]:
    """What `cdk bootstrap` is told to make it beside others."""
    if qualifier is None:
        return []
    return ["--qualifier", qualifier, "--toolkit-stack-name", toolkit_stack(qualifier)]


def find_stack(aws: Aws, name: str) -> Stack | None:
    """The stack `name` (or with that id), None where there is none (any more)."""
    with aws_errors():
        try:
            (description,) = aws.cloudformation.describe_stacks(StackName=name)["Stacks"]
        except ClientError as error:
            if _is_missing(error):
                return None
            raise
    if description["StackStatus"] == "DELETE_COMPLETE":
        return None
    outputs = {output["OutputKey"]: output["OutputValue"] for output in description.get("Outputs", [])}
    return Stack(
        description["StackName"],
        description.get("StackId", name),
        description["StackStatus"],
        description.get("StackStatusReason", ""),
        outputs,
    )


def which_exist(aws: Aws, names: Iterable[str]) -> list[str]:
    """Those of the stacks `names` that have not been deleted.

    Each is asked for by its name: who may describe some stacks may not ask for all ("This requires ListStacks
    and DescribeStacks permissions", DescribeStacks in botocore's model of CloudFormation, read 2026-12-01).
    """
    return [name for name in names if find_stack(aws, name) is not None]


def require_stack(aws: Aws, name: str, *, missing: str) -> Stack:
    """The stack `name`; raises SemifError saying `missing` where there is none."""
    stack = find_stack(aws, name)
    if stack is None:
        raise SemifError(f"the stack {name} is not deployed in {aws.region}; {missing}")
    return stack


def stack_resource(aws: Aws, stack: str, resource_type: str) -> str | None:
    """The physical id of the stack's one resource of a type, None without such a resource or stack.

    An id that is an ARN is cut down to the name at its end.
    """
    return next(iter(stack_resources(aws, stack, resource_type)), None)


def stack_resources(aws: Aws, stack: str, resource_type: str) -> list[str]:
    """The same of all its resources of a type."""
    with aws_errors():
        pages = aws.cloudformation.get_paginator("list_stack_resources").paginate(StackName=stack)
        try:
            return [
                resource.get("PhysicalResourceId", "").rpartition("/")[2]
                for page in pages
                for resource in page["StackResourceSummaries"]
                if resource["ResourceType"] == resource_type
            ]
        except ClientError as error:
            if _is_missing(error):
                return []
            raise


def stack_template(aws: Aws, stack: str) -> Mapping[str, Any]:
    """The template that the stack was last deployed with, empty where it was not written in JSON."""
    with aws_errors():
        # botocore hands a JSON template over as a mapping already.
        template: object = aws.cloudformation.get_template(StackName=stack)["TemplateBody"]
    return template if isinstance(template, Mapping) else {}


def stack_metadata(aws: Aws, stack: str) -> Mapping[str, object]:
    """The `Metadata` of that template, empty where it has none."""
    metadata = stack_template(aws, stack).get("Metadata")
    return metadata if isinstance(metadata, Mapping) else {}


def delete_stack(
    aws: Aws,
    stack: Stack,
    *,
    poll_seconds: float,
    on_status: Callable[[str], None] = lambda _: None,
    without: Sequence[str] = (),
) -> None:
    """Delete the stack and wait for its end.

    `without` names resources that are left alone, of a stack whose deletion failed at them. Raises
    NotDeletedError with the resources that would not go; BucketNotEmptyError where S3 says so of one. What an
    earlier attempt failed at does not count: its events stay, and its status may still be told at first
    ("Once the call completes successfully, stack deletion starts", DeleteStack in botocore's model of
    CloudFormation, read 2026-12-01).
    """
    token = str(uuid.uuid4())
    with aws_errors():
        if without:
            aws.cloudformation.delete_stack(
                StackName=stack.id, ClientRequestToken=token, RetainResources=list(without)
            )
        else:
            aws.cloudformation.delete_stack(StackName=stack.id, ClientRequestToken=token)
    deadline = time.monotonic() + _DELETE_SECONDS
    was_deleting = stack.status == _DELETING
    while left := find_stack(aws, stack.id):
        on_status(left.status)
        was_deleting |= left.status == _DELETING
        if left.status.endswith("_FAILED") and (
            failure := _failure(left, _events(aws, stack.id, token), was_deleting=was_deleting)
        ):
            raise failure
        if time.monotonic() > deadline:
            raise SemifError(
                f"{stack.name} is still {left.status} after {_DELETE_SECONDS} s; its events in "
                "CloudFormation say what it waits for"
            )
        time.sleep(poll_seconds)


def _is_missing(error: ClientError) -> bool:
    return "does not exist" in error.response.get("Error", {}).get("Message", "")


def _events(aws: Aws, stack_id: str, token: str) -> "list[StackEventTypeDef]":
    """What the operation with `token` has told, the newest first.

    "All events initiated by a given stack operation are assigned the same client request token"
    (ClientRequestToken of StackEvent in botocore's model of CloudFormation, read 2026-12-01).
    """
    with aws_errors():
        pages = aws.cloudformation.get_paginator("describe_stack_events").paginate(StackName=stack_id)
        events = [event for page in pages for event in page["StackEvents"]]
    return [event for event in events if event.get("ClientRequestToken") == token]


def _failure(
    stack: Stack, events: "Sequence[StackEventTypeDef]", *, was_deleting: bool
) -> NotDeletedError | None:
    """What the attempt with `events` failed at; None as long as it was not seen to fail.

    A deletion that runs already when another is asked for may go on under its own token; whether it does is
    not documented. Then the stack itself, seen being deleted, has all that can be told.
    """
    newest: dict[str, StackEventTypeDef] = {}
    for event in events:
        newest.setdefault(event.get("PhysicalResourceId") or event.get("LogicalResourceId", "?"), event)
    own = newest.pop(stack.id, None)
    has_failed = own is not None and own.get("ResourceStatus") == "DELETE_FAILED"
    if not has_failed and (events or not was_deleting):
        return None
    reason = own.get("ResourceStatusReason", "") if own is not None else stack.reason
    failed = [event for event in newest.values() if event.get("ResourceStatus") == "DELETE_FAILED"]
    reasons = [
        f"  {event.get('LogicalResourceId', '?')}: {event.get('ResourceStatusReason', 'no reason given')}"
        for event in failed
    ]
    message = "\n".join([f"{stack.name} could not be deleted: {reason}", *reasons])
    kind = BucketNotEmptyError if _NOT_EMPTY in message else NotDeletedError
    return kind(
        message, {event.get("LogicalResourceId", "?"): event.get("ResourceType", "") for event in failed}
    )


def empty_bucket(s3: "S3Client", bucket: str) -> int:
    """Delete every version and delete marker of the bucket; returns how many there were."""
    count = 0
    with aws_errors():
        while True:
            # From the start each time: what was listed is gone, and a marker for the next page may skip one.
            page = s3.list_object_versions(Bucket=bucket)
            listed = [*page.get("Versions", []), *page.get("DeleteMarkers", [])]
            if not listed:
                return count
            delete_versions(s3, bucket, [(item["Key"], item["VersionId"]) for item in listed])
            count += len(listed)
