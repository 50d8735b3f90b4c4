"""Going back: the lock that the endpoint is deployed with, and the one that it was deployed with before.

The Endpoint stack carries its lock in its template's metadata, so that what is deployed is known from any
checkout. Each deployment of other pins keeps the lock that was in service beside the new one.
"""

from collections.abc import Mapping

from pydantic import ValidationError

from semif.aws.stacks import find_stack, stack_metadata
from semif.errors import ProblemsError, SemifError
from semif.lock.lock_file import TEMPLATE_METADATA, Lock, read_lock, write_lock
from semif.target.target import Target


def deployed_lock(target: Target) -> Lock | None:
    """The lock that the Endpoint stack is deployed with; None without a stack, or where it tells of none.

    After an update that CloudFormation rolled back, its template is the former one again.
    """
    stack = find_stack(target.aws, target.environment.endpoint_stack)
    # A stack whose creation failed keeps the template that it failed with.
    if stack is None or stack.status in {"ROLLBACK_COMPLETE", "REVIEW_IN_PROGRESS"}:
        return None
    content = stack_metadata(target.aws, stack.name).get(TEMPLATE_METADATA)
    try:
        return Lock.model_validate(content) if isinstance(content, Mapping) else None
    except ValidationError:  # of another version of this project
        return None


def keep_previous(target: Target, before: Lock | None, now: Lock) -> None:
    """After `now` was deployed over `before`, that was in service: it is what a rollback goes back to."""
    if before is None:
        target.previous_lock_path.unlink(missing_ok=True)
    elif not before.pins_same_as(now):
        write_lock(target.previous_lock_path, before)


def find_rollback(target: Target) -> tuple[Lock, Lock]:
    """The lock that is deployed, and the one to go back to.

    That is the deployed one where the lock on disk is another: its deployment failed, or has yet to come.
    Else it is the one that was deployed before; a rollback is a deployment too, so the next one goes forward
    again. Raises SemifError where there is nothing to go back to, and ProblemsError where the environment or
    its preset no longer fit the lock.
    """
    target.refuse_example()
    deployed = deployed_lock(target)
    if deployed is None:
        raise SemifError(
            f"{target.environment.endpoint_stack} does not tell what it is deployed with, or is not "
            f"deployed; run `semif deploy {target.command_line}`"
        )
    wanted, source = deployed, target.environment.endpoint_stack
    if _disk_pins(target, deployed):
        if not target.previous_lock_path.exists():
            raise SemifError(
                f"there is no {target.previous_lock_path}: this checkout has seen no deployment of other "
                "pins than the present ones; take an older lock from version control and deploy it"
            )
        wanted, source = read_lock(target.previous_lock_path), str(target.previous_lock_path)
    try:
        target.check_lock(wanted, source=source)
    except ProblemsError as error:
        raise ProblemsError(
            error.source,
            [
                *error.problems,
                "a rollback changes the lock alone: put the environment's file and its preset back first",
            ],
        ) from None
    return deployed, wanted


def _disk_pins(target: Target, lock: Lock) -> bool:
    try:
        return read_lock(target.lock_path).pins_same_as(lock)
    except SemifError:  # missing or broken
        return False
