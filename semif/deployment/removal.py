"""Deleting a stack of an environment, with what lies in its bucket, and what that costs its callers."""

import math
from collections.abc import Iterator

from semif.aws.stacks import BucketNotEmptyError, Stack, delete_stack, empty_bucket, find_stack
from semif.deployment.target_cdk import OnLine
from semif.environment.environment import Environment
from semif.target.endpoint_state import EndpointState, find_endpoint
from semif.target.target import Target


def remove_stack(target: Target, name: str, on_line: OnLine) -> bool:
    """Delete the stack `name`; False where there is none.

    A bucket that goes with it (`removal = "destroy"`) is emptied of all versions first, and once more where
    answers came into it before the endpoint was gone. With `removal = "retain"` it stays. Raises SemifError
    with what would not go.
    """
    stack = find_stack(target.aws, name)
    if stack is None:
        return False
    bucket = stack.outputs.get("BucketName")  # none where the deployment failed, or in the other stack
    if target.environment.removal == "retain":
        bucket = None
    try:
        _delete(target, stack, bucket, on_line)
    except BucketNotEmptyError:
        if bucket is None:
            raise
        _delete(target, stack, bucket, on_line)
    return True


def _delete(target: Target, stack: Stack, bucket: str | None, on_line: OnLine) -> None:
    """Delete a stack, and before that what is in its bucket."""
    if bucket is not None:
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
        yield f"The queue's requests are lost, and its bucket {bucket}."
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
