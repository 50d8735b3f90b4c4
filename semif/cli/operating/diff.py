"""`semif diff`: what a deployment would change."""

import click

from semif.builds.environment_builds import stale_image
from semif.cli.options import environment_argument, steps_on_stderr, target_options
from semif.cli.output import json_option, print_json
from semif.deployment.stages import differences
from semif.target.target import open_target


@click.command()
@environment_argument
@target_options
@json_option
def command(environment: str, on_this_machine: bool, profile: str | None, as_json: bool) -> None:
    """Show what a deployment would change.

    Compares the stacks of ENV, with its present lock, with what is deployed. Changes nothing. Says too where
    the adapter's source has changed since the locked image was built.

    \b
    Example:
      semif diff prod
    """
    target = open_target(environment, on_this_machine=on_this_machine, profile=profile)
    lock = target.read_lock()
    with steps_on_stderr().step("compare the stacks with what is deployed"):
        changes = differences(target)
    if note := stale_image(target, lock):
        click.echo(f"note: {note}", err=True)
    if as_json:
        print_json({"different": bool(changes), "diff": "\n".join(changes)})
    else:
        click.echo("\n".join(changes) if changes else "nothing would change")
