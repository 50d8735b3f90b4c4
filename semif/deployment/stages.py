"""The chain of a deployment, one function for each arrow; `semif deploy` walks them all."""

from itertools import dropwhile

from semif.aws.stacks import bootstrap_options, find_stack, toolkit_stack
from semif.deployment.endpoint.watch import OnLook
from semif.deployment.modes import deployed_mode
from semif.deployment.registry import require_approval
from semif.deployment.removal import remove_stack
from semif.deployment.target_cdk import OnLine, run_for, synthesise_and_deploy
from semif.errors import SemifError
from semif.lock.lock_file import Lock, write_lock
from semif.project.whole_files import write_whole
from semif.target.target import Target

NO_DIFFERENCES = "Number of stacks with differences: 0"
"""The end of the last line of `cdk diff` where nothing differs."""


def bootstrap_local(target: Target, on_line: OnLine) -> None:
    """Prepare the AWS on this machine for the CDK, where that is not done yet."""
    qualifier = target.environment.bootstrap_qualifier
    if find_stack(target.aws, toolkit_stack(qualifier)) is not None:
        return
    place = f"aws://{target.account}/{target.aws.region}"
    # Away from cdk.json: the CDK would synthesise the app first, and bootstrapping needs nothing of it.
    run_for(
        target, ["bootstrap", *bootstrap_options(qualifier), place], on_line, folder=target.lock_path.parent
    )


def deploy_artifacts(target: Target, on_line: OnLine) -> None:
    """Deploy the stack with the bucket and what is built; it needs no lock."""
    synthesise_and_deploy(target, "artifacts", target.environment.artifacts_stack, on_line)


def deploy_endpoint(
    target: Target, on_line: OnLine, on_look: OnLook = lambda _: None, *, recreate: bool = False
) -> Lock:
    """Deploy the endpoint that the lock pins, and see that SageMaker really runs it.

    With `recreate` an endpoint that is there is deleted before, with all of its stack: the new one needs no
    quota for a second fleet, and nobody is answered meanwhile.

    `on_line` gets what CloudFormation tells, `on_look` what the endpoint is like meanwhile, from another
    thread. Where other pins were in service before, their lock is kept for a rollback. Raises SemifError
    without a usable lock or the approval that `[registry]` asks for, where the deployment fails, and where
    the endpoint then is not what the lock says: with SageMaker's reason, and the last lines of a container
    that did not start.
    """
    lock = target.read_lock()
    require_approval(target, lock)
    deployed_mode(target.environment).deploy(target, lock, on_line, on_look, recreate=recreate)
    return lock


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
    lines = run_for(target, ["diff", "--method", method, *target.cdk_context("all")], lambda _: None)
    same = any(line.endswith(NO_DIFFERENCES) for line in lines)
    changes = [] if same else list(dropwhile(lambda line: not line.startswith("Stack "), lines))
    return [*_rolled_back(target), *changes]


def _rolled_back(target: Target) -> list[str]:
    """Stacks whose creation failed: all they hold is the template that `cdk diff` compares with."""
    names = (target.environment.artifacts_stack, target.environment.endpoint_stack)
    stacks = [find_stack(target.aws, name) for name in names]
    return [
        f"Stack {stack.name} is {stack.status}: its creation failed, a deployment makes all of it"
        for stack in stacks
        if stack is not None and stack.status == "ROLLBACK_COMPLETE"
    ]


def destroy(target: Target, on_line: OnLine) -> list[str]:
    """Delete the environment's stacks, the endpoint first; returns what was deleted.

    Transform jobs that run are stopped before. With `removal = "retain"` the buckets and the repository stay.
    """
    environment = target.environment
    deployed_mode(environment).end(target, on_line)
    names = (environment.endpoint_stack, environment.artifacts_stack)
    return [name for name in names if remove_stack(target, name, on_line)]
