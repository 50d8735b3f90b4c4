"""Going back: the lock that the endpoint is deployed with, and the one that it was deployed with before.

The Endpoint stack carries its lock in its template's metadata, so that what is deployed is known from any
checkout. Each deployment of other pins keeps the lock that was in service beside the new one.

It is noted before CloudFormation begins, and becomes the previous one, or is dropped, once it is known what
came of the deployment. Where a command is interrupted CloudFormation goes on: the next one finds that out.
"""

from collections.abc import Mapping
from pathlib import Path

from pydantic import ValidationError

from semif.aws.stacks import Stack, find_stack, stack_metadata
from semif.errors import ProblemsError, SemifError
from semif.lock.lock_file import TEMPLATE_METADATA, Lock, read_lock, write_lock
from semif.target.target import Target


def settled_lock(target: Target) -> Lock | None:
    """The lock that the Endpoint stack is deployed with; None without a stack, or where it tells of none.

    After an update that CloudFormation rolled back, its template is the former one again. What was noted
    before a deployment that nobody saw the end of is settled, unless the stack still moves.
    """
    stack = _stack(target)
    deployed = _lock_of(target, stack)
    _settle(target, stack, deployed)
    return deployed


def _stack(target: Target) -> Stack | None:
    return find_stack(target.aws, target.environment.endpoint_stack)


def _lock_of(target: Target, stack: Stack | None) -> Lock | None:
    # A stack whose creation failed keeps the template that it failed with.
    if stack is None or stack.status in {"ROLLBACK_COMPLETE", "REVIEW_IN_PROGRESS"}:
        return None
    content = stack_metadata(target.aws, stack.name).get(TEMPLATE_METADATA)
    try:
        return Lock.model_validate(content) if isinstance(content, Mapping) else None
    except ValidationError:  # of another version of this project
        return None


def note_serving(target: Target, serving: Lock | None) -> None:
    """Before a deployment: note `serving`, for a rollback to go back to; None where nothing is deployed.

    What was noted before stays where it is not settled yet: the stack still moves, or was to be made anew.
    """
    if target.noted_lock_path.exists():
        return
    if serving is None:
        target.previous_lock_path.unlink(missing_ok=True)
    else:
        write_lock(target.noted_lock_path, serving)


def keep_previous(target: Target, now: Lock) -> None:
    """After `now` was deployed: what was noted is what a rollback goes back to, where it is another lock."""
    if target.noted_lock_path.exists():
        # The CDK's CLI succeeds at once where the stack has this template, even while CloudFormation is still
        # at it (`canSkipDeploy` of aws-cdk 2.1148.1, read 2026-12-01).
        _settle(target, _stack(target), now)


def _settle(target: Target, stack: Stack | None, deployed: Lock | None) -> None:
    """Make what was noted the previous lock, or drop it where it is deployed again; not while that moves."""
    noted = target.noted_lock_path
    if stack is None or deployed is None or not stack.status.endswith("_COMPLETE") or not noted.exists():
        return
    if _has_pins(noted, deployed):
        noted.unlink()
    else:
        noted.replace(target.previous_lock_path)


def find_rollback(target: Target) -> tuple[Lock, Lock]:
    """The lock that is deployed, and the one to go back to.

    That is the deployed one where the lock on disk is another: its deployment failed, or has yet to come.
    Else it is the one that was deployed before; a rollback is a deployment too, so the next one goes forward
    again. Raises SemifError where there is nothing to go back to, or an interrupted deployment goes on, and
    ProblemsError where the environment or its preset no longer fit the lock.
    """
    target.refuse_example()
    deployed = settled_lock(target)
    if deployed is None:
        raise SemifError(
            f"{target.environment.endpoint_stack} does not tell what it is deployed with, or is not "
            f"deployed; run `semif deploy {target.command_line}`"
        )
    if target.noted_lock_path.exists():
        raise SemifError(
            f"{target.environment.endpoint_stack} has not come to rest after a deployment that was "
            "interrupted, so what to go back to is not known yet; "
            f"`semif status {target.command_line}` tells when it has"
        )
    wanted, source = deployed, target.environment.endpoint_stack
    if _has_pins(target.lock_path, deployed):
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


def _has_pins(path: Path, lock: Lock) -> bool:
    try:
        return read_lock(path).pins_same_as(lock)
    except SemifError:  # missing or broken
        return False
