"""`semif model register`: what a lock pins, in SageMaker's Model Registry."""

import click

from semif.cli.options import environment_argument, target_options
from semif.cli.output import json_option, print_json
from semif.deployment.registry import APPROVED, register
from semif.target.target import open_target


@click.command("register")
@environment_argument
@target_options
@json_option
def register_lock(environment: str, *, on_this_machine: bool, profile: str | None, as_json: bool) -> None:
    """Register what ENV's lock pins in SageMaker's Model Registry.

    Image and model become a version of the model package group of [registry], with their hashes and the
    prompt's version, pending somebody's approval; the group is made where it is missing. What is registered
    already is not registered again. Where [registry] has require_approval, `semif deploy ENV` deploys only
    what was approved.

    \b
    Example:
      semif model register prod
    """
    done = register(open_target(environment, on_this_machine=on_this_machine, profile=profile))
    package = done.package
    if as_json:
        print_json({"arn": package.arn, "status": package.status, "created": done.created})
        return
    click.echo(f"{package.arn}: {package.status}{'' if done.created else ', registered before'}")
    if package.status != APPROVED:
        click.echo("Whoever may approve it does so with")
        click.echo(
            f"  aws sagemaker update-model-package --model-package-arn {package.arn} "
            "--model-approval-status Approved"
        )
