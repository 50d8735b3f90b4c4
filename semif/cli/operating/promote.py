"""`semif promote`: what one environment was tried with, in another one."""

import click

from semif.aws.stacks import find_stack
from semif.builds.promotion import check_fit, promote
from semif.cli.deployment_steps import sole_work
from semif.cli.options import steps_on_stderr, target_options
from semif.cli.output import json_option
from semif.cli.progress import progress_on_stderr
from semif.cli.steps import Steps
from semif.deployment import stages
from semif.target.target import Target, open_target


@click.command()
@click.argument("source", metavar="FROM")
@click.argument("environment", metavar="TO")
@target_options
@click.option(
    "--from-profile", metavar="NAME", help="AWS profile that reads FROM; default: that of --profile."
)
@json_option
def command(
    *,
    source: str,
    environment: str,
    on_this_machine: bool,
    profile: str | None,
    from_profile: str | None,
    as_json: bool,
) -> None:
    """Copy FROM's image and model to TO, write TO's lock.

    Nothing is built: the image keeps its digest and the archive its hash, in another environment, account or
    region; TO's Artifacts stack is made where there is none. TO needs the kind, accelerator, model, format
    and readout of FROM. Look at environments/TO.lock.json, commit it, deploy: `semif deploy TO` then builds
    nothing either.

    \b
    Examples:
      semif promote dev prod
      semif promote dev prod --from-profile dev-account --profile prod-account
    """
    with sole_work(on_this_machine=on_this_machine):
        read_by = profile if from_profile is None else from_profile
        origin = open_target(source, on_this_machine=on_this_machine, profile=read_by)
        target = open_target(environment, on_this_machine=on_this_machine, profile=profile)
        check_fit(origin.environment, target.environment)
        _make_artifacts(steps_on_stderr(), target)
        with progress_on_stderr() as progress:
            done = promote(origin, target, progress, lambda note: click.echo(f"note: {note}", err=True))
    if as_json:
        click.echo(done.lock.canonical_bytes(), nl=False)
        return
    lock = done.lock
    click.echo(f"{target.lock_path}{'' if done.lock_changed else ' (as it was)'}")
    for image_uri in lock.image_uris.values():
        click.echo(f"  image  {image_uri}{' (copied)' if done.image_copied else ''}")
    click.echo(f"  model  {lock.model.name} {lock.model.address}{' (copied)' if done.model_copied else ''}")
    click.echo(f"  built  in {lock.origin.environment}, {lock.origin.account}, {lock.origin.region}")


def _make_artifacts(steps: Steps, target: Target) -> None:
    stack = target.environment.artifacts_stack
    if target.environment.preset is None or find_stack(target.aws, stack) is not None:
        return
    with steps.step(f"deploy {stack}") as step:
        stages.deploy_artifacts(target, step.tell)
