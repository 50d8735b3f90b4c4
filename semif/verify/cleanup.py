"""Taking away what a verification made, and looking at what is left."""

import time

from botocore.exceptions import ClientError

from semif.aws.clients import aws_errors
from semif.aws.stacks import find_stack, which_exist
from semif.background.transform.jobs import jobs_of
from semif.deployment.removal import remove_stack
from semif.deployment.stages import destroy
from semif.errors import SemifError
from semif.target.endpoint_state import find_endpoint
from semif.target.target import Target
from semif.verify.step import Bench

_SETTLE_SECONDS = 3600.0


def remove_endpoint(bench: Bench) -> None:
    """Take the endpoint's stack away, so that another mode can take its place. Raises SemifError."""
    target = bench.target()
    _settle(target, target.environment.endpoint_stack, bench)
    remove_stack(target, target.environment.endpoint_stack, bench.tell)


def take_away(bench: Bench) -> list[str]:
    """Delete the stacks, whatever state they are in, and what belongs to them here.

    Returns what is left, a line for each thing, with what to do. The environment's file stays as long as
    anything is, since deleting that needs it.
    """
    if not bench.path.exists():
        return []
    problems: list[str] = []
    try:
        target = bench.target()
        for stack in (target.environment.endpoint_stack, target.environment.artifacts_stack):
            _settle(target, stack, bench)
        destroy(target, bench.tell)
    except SemifError as error:
        problems.append(str(error))
    left = _left(bench)
    if left or problems:
        return [*left, *problems, _advice(bench)]
    for path in (target.lock_path, target.previous_lock_path, target.noted_lock_path, bench.path):
        path.unlink(missing_ok=True)
    return []


def left_after_interrupt(bench: Bench) -> list[str]:
    """What is left where the clean-up itself was interrupted."""
    if not bench.path.exists():
        return []
    return [*_left(bench), "the clean-up was interrupted", _advice(bench)]


def _advice(bench: Bench) -> str:
    account = " --local" if bench.local else f" --profile {bench.profile}" if bench.profile else ""
    return (
        f"run `semif destroy {bench.name}{account}` until it says that nothing was deployed, then delete "
        f"{bench.path}"
    )


def _settle(target: Target, name: str, bench: Bench) -> None:
    """CloudFormation deletes no stack that is being updated: have it stop, and wait for that.

    An update can be cancelled in UPDATE_IN_PROGRESS alone; it is rolled back then ("Cancel a stack update",
    CloudFormation's user guide, read 2026-11-30).
    """
    deadline = time.monotonic() + _SETTLE_SECONDS
    while (stack := find_stack(target.aws, name)) is not None:
        if not stack.status.startswith("UPDATE_") or not stack.status.endswith("_IN_PROGRESS"):
            return
        if stack.status == "UPDATE_IN_PROGRESS":
            with aws_errors():
                try:
                    target.aws.cloudformation.cancel_update_stack(StackName=stack.name)
                except ClientError as error:  # it came to its end meanwhile
                    if error.response.get("Error", {}).get("Code") != "ValidationError":
                        raise
        if time.monotonic() > deadline:
            raise SemifError(f"{name} is still {stack.status}")
        bench.tell(f"{name} is {stack.status}")
        time.sleep(target.poll_seconds)


def _left(bench: Bench) -> list[str]:
    """Stacks, endpoint and jobs that are there."""
    try:
        target = bench.target()
        aws, environment = target.aws, target.environment
        names = (environment.artifacts_stack, environment.endpoint_stack)
        left = [f"the stack {name}" for name in which_exist(aws, names)]
        if find_endpoint(aws, environment.endpoint_name) is not None:
            left.append(f"the endpoint {environment.endpoint_name}, which bills")
        jobs = [job.name for job in jobs_of(aws, environment.endpoint_name) if job.is_going]
        return [*left, *(f"the transform job {name}, which bills" for name in jobs)]
    except SemifError as error:
        return [f"what is left could not be looked at: {error}"]
