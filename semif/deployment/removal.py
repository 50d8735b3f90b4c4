"""Deleting a stack of an environment, with what lies in its bucket, and what that costs its callers."""

import math
from collections.abc import Iterator, Mapping

from botocore.exceptions import ClientError

from semif.aws.clients import aws_errors
from semif.aws.stacks import (
    BucketNotEmptyError,
    NotDeletedError,
    Stack,
    delete_stack,
    empty_bucket,
    find_stack,
    stack_resources,
)
from semif.deployment.target_cdk import OnLine
from semif.environment.environment import Environment
from semif.target.endpoint_state import EndpointState, describe_endpoint, find_endpoint, is_gone
from semif.target.target import Target

# Whether CloudFormation fails at what is gone already is not known: it says of no type what it makes of that.
_GO_WITH_ENDPOINT = {
    "AWS::ApplicationAutoScaling::ScalableTarget",
    "AWS::ApplicationAutoScaling::ScalingPolicy",
    "AWS::SageMaker::Endpoint",
}
"""Types of what is gone once SageMaker has deleted an endpoint."""
_CONFIG, _MODEL = "AWS::SageMaker::EndpointConfig", "AWS::SageMaker::Model"
"""What may have been deleted by hand before its endpoint: DeleteEndpointConfig and DeleteModel delete "only"
that (SageMaker's API reference in botocore, read 2026-12-01)."""


def remove_stack(target: Target, name: str, on_line: OnLine) -> bool:
    """Delete the stack `name`; False where there is none.

    A bucket that goes with it (`removal = "destroy"`) is emptied of all versions first, and once more where
    answers came into it before the endpoint was gone. With `removal = "retain"` it stays. A bucket that the
    stack did not make is never touched, whatever the environment's file has come to say; nor is what
    SageMaker has taken away already a reason to fail. Raises SemifError with what would not go.
    """
    stack = find_stack(target.aws, name)
    if stack is None:
        return False
    bucket = _own_bucket(target, stack, on_line)
    try:
        _delete(target, stack, bucket, on_line)
    except NotDeletedError as error:
        if not _is_gone(target, error.resources):
            raise
        on_line(f"leaving out what is gone: {', '.join(error.resources)}")
        poll, gone = target.poll_seconds, tuple(error.resources)
        delete_stack(target.aws, stack, poll_seconds=poll, on_status=on_line, without=gone)
    return True


def _own_bucket(target: Target, stack: Stack, on_line: OnLine) -> str | None:
    """The bucket that goes with `stack`: one that it made, and that is not retained."""
    bucket = stack.outputs.get("BucketName")  # none where the deployment failed, or in the other stack
    if bucket is None:
        return None
    if bucket not in stack_resources(target.aws, stack.name, "AWS::S3::Bucket"):
        on_line(f"{bucket} was there before {stack.name}, and stays as it is")
        return None
    return None if target.environment.removal == "retain" else bucket


def _is_gone(target: Target, resources: Mapping[str, str]) -> bool:
    """Whether SageMaker has nothing of the stack left that is of the types of `resources`, ids with types."""
    return bool(resources) and not any(_is_left(target, one) for one in set(resources.values()))


def _is_left(target: Target, resource_type: str) -> bool:
    environment, sagemaker = target.environment, target.aws.sagemaker
    if resource_type in _GO_WITH_ENDPOINT:
        return describe_endpoint(target.aws, environment.endpoint_name) is not None
    if resource_type not in {_CONFIG, _MODEL}:
        return True
    with aws_errors():
        for name in stack_resources(target.aws, environment.endpoint_stack, resource_type):
            try:
                if resource_type == _CONFIG:
                    sagemaker.describe_endpoint_config(EndpointConfigName=name)
                else:
                    sagemaker.describe_model(ModelName=name)
            except ClientError as error:
                if not is_gone(error):
                    raise
            else:
                return True
    return False


def _delete(target: Target, stack: Stack, bucket: str | None, on_line: OnLine) -> None:
    """Delete a stack, and before that what is in its bucket: again where something came into it meanwhile."""
    if bucket is None:
        delete_stack(target.aws, stack, poll_seconds=target.poll_seconds, on_status=on_line)
        return
    try:
        _delete_emptied(target, stack, bucket, on_line)
    except BucketNotEmptyError:
        _delete_emptied(target, stack, bucket, on_line)


def _delete_emptied(target: Target, stack: Stack, bucket: str, on_line: OnLine) -> None:
    on_line(f"emptying {bucket}")
    empty_bucket(target.aws.s3, bucket)
    delete_stack(target.aws, stack, poll_seconds=target.poll_seconds, on_status=on_line)


def gap_of(target: Target) -> Iterator[str]:
    """Lines for people: how long nobody is answered, and what goes besides. None where there is no stack."""
    environment = target.environment
    if find_stack(target.aws, environment.endpoint_stack) is None:
        return
    running = find_endpoint(target.aws, environment.endpoint_name)
    what = f"{environment.endpoint_name} in account {target.account}, {target.aws.region}"
    if running is None:
        yield f"The stack of {what} has no endpoint."
    else:
        yield from _gap(what, running, environment)
    if environment.alarms is not None and environment.alarms.topic_arn is None:
        yield "The alarms' topic goes with its stack: subscribe to the new one."
    bucket = "is emptied and goes" if environment.removal == "destroy" else "stays, the new one has another"
    if environment.endpoint.mode == "async":
        kept = "stays as it is" if environment.existing.files_bucket is not None else bucket
        yield f"The queue's requests are lost, and its bucket {kept}."
    if environment.data_capture is not None:
        yield f"The bucket of what was captured {bucket}."


def _gap(what: str, running: EndpointState, environment: Environment) -> Iterator[str]:
    count, first = running.instances, environment.endpoint.initial_instance_count
    times = (environment.start_seconds, environment.longest_start_seconds)
    usual, longest = (math.ceil(seconds / 60) for seconds in times)
    yield f"{what} is {running.status} on {count} {'instance' if count == 1 else 'instances'}."
    yield (
        f"Nobody is answered from its deletion until the new one has started: usually {usual} minutes, up to "
        f"{longest}, and the minutes of the deletion. If the new one does not start, there is none."
    )
    if count > first:
        yield f"The new one starts with {first}."
