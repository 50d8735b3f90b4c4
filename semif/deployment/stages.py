"""The chain of a deployment, one function for each arrow; `semif deploy` walks them all."""

import time
from collections.abc import Callable
from itertools import dropwhile
from pathlib import Path
from tempfile import TemporaryDirectory

from semif.aws.clients import LOCAL_AWS_ENDED
from semif.aws.stacks import TOOLKIT_STACK, Stack, delete_stack, empty_bucket, find_stack, stack_resource
from semif.background.transform.deployed_model import find_model, model_problems
from semif.background.transform.jobs import find_job, jobs_of, stop_job
from semif.deployment import cdk
from semif.deployment.endpoint_watch import EndpointLook, EndpointWatch
from semif.deployment.rollback import deployed_lock, keep_previous
from semif.errors import SemifError
from semif.lock.lock_file import Lock, write_lock
from semif.project.whole_files import write_whole
from semif.target import local_server
from semif.target.endpoint_state import EndpointState, find_endpoint
from semif.target.target import Target

OnLine = Callable[[str], None]
OnLook = Callable[[EndpointLook], None]

NO_DIFFERENCES = "Number of stacks with differences: 0"
"""The end of the last line of `cdk diff` where nothing differs."""

_LOCAL_SECONDS = 180.0
_AWS_SECONDS = 2 * 3600.0
_NOT_EMPTY = "not empty"
"""In what S3 says of a bucket that cannot be deleted."""


def bootstrap_local(target: Target, on_line: OnLine) -> None:
    """Prepare the AWS on this machine for the CDK, where that is not done yet."""
    if find_stack(target.aws, TOOLKIT_STACK) is not None:
        return
    place = f"aws://{target.account}/{target.aws.region}"
    # Away from cdk.json: the CDK would synthesise the app first, and bootstrapping needs nothing of it.
    _run(target, ["bootstrap", place], on_line, folder=target.lock_path.parent)


def deploy_artifacts(target: Target, on_line: OnLine) -> None:
    """Deploy the stack with the bucket and what is built; it needs no lock."""
    _deploy(target, target.environment.artifacts_stack, "artifacts", on_line)


def deploy_endpoint(target: Target, on_line: OnLine, on_look: OnLook = lambda _: None) -> Lock:
    """Deploy the endpoint that the lock pins, and see that SageMaker really runs it.

    `on_line` gets what CloudFormation tells, `on_look` what the endpoint is like meanwhile, from another
    thread. Where other pins were in service before, their lock is kept for a rollback. Raises SemifError
    without a usable lock, where the deployment fails, and where the endpoint then is not what the lock says:
    with SageMaker's reason, and the last lines of a container that did not start.
    """
    lock = target.read_lock()
    if target.environment.endpoint.mode == "batch":
        return _deploy_model(target, lock, on_line)
    name = target.environment.endpoint_name
    before, serving = deployed_lock(target), find_endpoint(target.aws, name)
    with EndpointWatch(target.aws, name, poll_seconds=target.poll_seconds, on_look=on_look) as watch:
        try:
            _deploy(target, target.environment.endpoint_stack, "all", on_line)
        except cdk.CdkError as error:
            raise SemifError("\n".join([str(error), *watch.what_went_wrong()])) from None
        # Now, since the stack forgets its former lock even where SageMaker does not follow it. A lock that
        # never came into service is nothing to go back to.
        if before is None or (serving is not None and serving.runs(before)):
            keep_previous(target, before, lock)
        if problems := endpoint_problems(target, find_endpoint(target.aws, name), lock):
            lines = dict.fromkeys([*problems, *watch.what_went_wrong()])  # both may tell SageMaker's reason
            raise SemifError("\n".join(lines))
    return lock


def _deploy_model(target: Target, lock: Lock, on_line: OnLine) -> Lock:
    """Deploy the Model that transform jobs use; there is nothing to follow, it is there or is not."""
    before = deployed_lock(target)
    _deploy(target, target.environment.endpoint_stack, "all", on_line)
    keep_previous(target, before, lock)
    if problems := model_problems(target, find_model(target), lock):
        raise SemifError("\n".join(problems))
    return lock


def endpoint_problems(target: Target, state: EndpointState | None, lock: Lock) -> list[str]:
    """Why the endpoint, found in `state`, is not a healthy one of `lock` and its stack; empty where it is."""
    environment = target.environment
    if state is None:
        return [f"there is no endpoint {environment.endpoint_name}"]
    config = stack_resource(target.aws, environment.endpoint_stack, "AWS::SageMaker::EndpointConfig")
    return list(state.problems(lock, stack_config=config))


def roll_back(target: Target, wanted: Lock, on_line: OnLine, on_look: OnLook = lambda _: None) -> Lock:
    """Put `wanted` into the lock's place and deploy the endpoint. Raises as `deploy_endpoint`.

    Where that fails the lock on disk is again what it was. The environment's settings are the present ones.
    """
    path = target.lock_path
    old = path.read_bytes() if path.exists() else None
    write_lock(path, wanted)
    try:
        return deploy_endpoint(target, on_line, on_look)
    except SemifError:
        if old is not None:
            write_whole(path, old)
        raise


def differences(target: Target) -> list[str]:
    """What a deployment with the present lock would change, as `cdk diff` prints it; empty where nothing."""
    # A change set also tells what would be replaced; the AWS on this machine makes none for a comparison.
    method = "template" if target.local else "auto"
    lines = _run(target, ["diff", "--method", method, *target.cdk_context("all")], lambda _: None)
    same = any(line.endswith(NO_DIFFERENCES) for line in lines)
    changes = [] if same else list(dropwhile(lambda line: not line.startswith("Stack "), lines))
    return [*_rolled_back(target), *changes]


def _rolled_back(target: Target) -> list[str]:
    """Stacks whose creation failed: all they hold is the template that `cdk diff` compares with."""
    names = (target.environment.artifacts_stack, target.environment.endpoint_stack)
    found = [find_stack(target.aws, name) for name in names]
    return [
        f"Stack {stack.name} is {stack.status}: its creation failed, a deployment makes all of it"
        for stack in found
        if stack is not None and stack.status == "ROLLBACK_COMPLETE"
    ]


def destroy(target: Target, on_line: OnLine) -> list[str]:
    """Delete the environment's stacks, the endpoint first; returns what was deleted.

    Transform jobs that run are stopped before. A bucket that goes with its stack (`removal = "destroy"`) is
    emptied of all versions first, and once more where answers came into it before the endpoint was gone. With
    `removal = "retain"` the bucket and the repository stay.
    """
    deleted = []
    environment = target.environment
    if environment.endpoint.mode == "batch":
        _end_jobs(target, on_line)
    for name in (environment.endpoint_stack, environment.artifacts_stack):
        stack = find_stack(target.aws, name)
        if stack is None:
            continue
        bucket = stack.outputs.get("BucketName")  # none where the deployment failed, or in the other stack
        if environment.removal == "retain":
            bucket = None
        try:
            _delete(target, stack, bucket, on_line)
        except SemifError as error:
            if bucket is None or _NOT_EMPTY not in str(error):
                raise
            _delete(target, stack, bucket, on_line)
        deleted.append(name)
    return deleted


def _delete(target: Target, stack: Stack, bucket: str | None, on_line: OnLine) -> None:
    """Delete a stack, and before that what is in its bucket."""
    if bucket is not None:
        on_line(f"emptying {bucket}")
        empty_bucket(target.aws.s3, bucket)
    delete_stack(target.aws, stack, poll_seconds=target.poll_seconds, on_status=on_line)


def _end_jobs(target: Target, on_line: OnLine) -> None:
    """Stop the transform jobs, which would go on and bill, and could not write their answers any more."""
    going = [job for job in jobs_of(target.aws, target.environment.endpoint_name) if job.is_going]
    for job in going:
        on_line(f"stopping {job.name}")
        stop_job(target.aws, job.name)
    for job in going:
        while find_job(target.aws, job.name).is_going:
            time.sleep(target.poll_seconds)


def _deploy(target: Target, stack: str, stage: str, on_line: OnLine) -> None:
    # `semif diff` is where changes are looked at before; a prompt here would stop every unattended run.
    options = ["--exclusively", "--require-approval", "never", "--progress", "events"]
    _run(target, ["deploy", stack, *options, *target.cdk_context(stage)], on_line)


def _run(target: Target, arguments: list[str], on_line: OnLine, folder: Path | None = None) -> list[str]:
    # An assembly of its own for each run: commands at the same time would spoil one another's.
    with TemporaryDirectory(prefix="semif-cdk-") as assembly:
        try:
            return cdk.run_cdk(
                target.root,
                [*arguments, "--output", assembly, "--no-notices", "--ci"],
                environment=target.aws.process_environment(),
                timeout_seconds=_LOCAL_SECONDS if target.local else _AWS_SECONDS,
                folder=folder,
                on_line=on_line,
            )
        except cdk.CdkError:
            if target.local and local_server.find_server(target.root) is None:
                raise SemifError(LOCAL_AWS_ENDED) from None
            raise
