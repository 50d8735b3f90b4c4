"""`semif build`: run the builds of an environment, write its lock."""

import click

from semif.cli.deployment_steps import build_step, sole_work
from semif.cli.options import environment_argument, steps_on_stderr, target_options
from semif.cli.output import json_option
from semif.target.target import open_target


@click.command()
@environment_argument
@target_options
@json_option
def command(environment: str, on_this_machine: bool, profile: str | None, as_json: bool) -> None:
    """Build image and model, write the lock.

    Runs the CodeBuild builds of ENV: the image (not for kind "text", which runs the published one) and the
    model archive. They start from the files of this checkout. What is built already is not built again. The
    lock (environments/ENV.lock.json) is written only when all have passed: look at the change, commit it,
    deploy.

    \b
    Example:
      semif build dev
    """
    with sole_work(on_this_machine=on_this_machine):
        target = open_target(environment, on_this_machine=on_this_machine, profile=profile)
        target.refuse_example()
        lock = build_step(steps_on_stderr(), target)
    if as_json:
        click.echo(lock.canonical_bytes(), nl=False)
        return
    click.echo(f"{target.lock_path}")
    for image_uri in lock.image_uris.values():
        click.echo(f"  image  {image_uri}")
    click.echo(f"  model  {lock.model.name} {lock.model.address}")
