"""`semif destroy`: take a deployment away."""

import click

from semif.cli.deployment_steps import sole_work
from semif.cli.options import environment_argument, steps_on_stderr, target_options
from semif.cli.output import json_option, print_json
from semif.cli.steps import Steps
from semif.deployment.stages import destroy
from semif.environment.environment import load_environment
from semif.project.root import project_root
from semif.target import local_server
from semif.target.target import Target, open_target


@click.command()
@environment_argument
@click.option("--yes", is_flag=True, help="Do not ask.")
@target_options
@json_option
def command(environment: str, yes: bool, on_this_machine: bool, profile: str | None, as_json: bool) -> None:
    """Delete what was deployed of ENV.

    Deletes the Endpoint stack, then the Artifacts stack.

    A bucket or role of [existing] is neither emptied nor deleted, which is said.

    Where the environment says removal = "destroy", the model archives and images go too; with "retain" the
    bucket and the repository stay. With --local, the AWS on this machine stops when nothing is left on it.

    \b
    Examples:
      semif destroy dev
      semif destroy demo --local --yes
    """
    load_environment(environment)
    with sole_work(on_this_machine=on_this_machine):
        deleted: list[str] = []
        if not on_this_machine or local_server.find_server(project_root()) is not None:
            target = open_target(environment, on_this_machine=on_this_machine, profile=profile)
            if not yes:
                _confirm(target)
            deleted = destroy_chain(steps_on_stderr(), target)
    if as_json:
        print_json({"environment": environment, "deleted": deleted})
    else:
        click.echo(f"deleted {', '.join(deleted)}" if deleted else f"nothing of {environment} was deployed")


def destroy_chain(steps: Steps, target: Target) -> list[str]:
    """Destroy as a step; on this machine the lock goes too, and the AWS with its last stack.

    The previous locks go in any case: there is nothing left to roll back.
    """
    with steps.step(f"destroy {target.environment.name}") as step:
        deleted = destroy(target, step.tell)
    for path in (target.previous_lock_path, target.noted_lock_path):
        path.unlink(missing_ok=True)
    if target.local:
        target.lock_path.unlink(missing_ok=True)
        if not local_server.holds_stacks(target.aws):
            with steps.step("stop the AWS on this machine"):
                local_server.stop_server(target.root)
    return deleted


def _confirm(target: Target) -> None:
    given, images = target.environment.existing, "its images" if target.environment.existing.bucket else None
    kept = (
        images or "its archives and images"
        if target.environment.removal == "destroy"
        else "not the bucket and the images"
    )
    if stays := [*given.buckets, *filter(None, [given.role_arn])]:
        click.echo(f"Not made here, and left as they are: {', '.join(stays)}.", err=True)
    question = (
        f"Delete the endpoint and the stacks of {target.environment.name} in account {target.account}, "
        f"{target.aws.region}, and {kept}?"
    )
    click.confirm(question, abort=True, err=True)
