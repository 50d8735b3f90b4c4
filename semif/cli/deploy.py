"""`semif deploy`: the whole chain."""

import click
from rich.console import Console

from semif.cli.answers import show_answer
from semif.cli.chain import deploy_chain, start_local
from semif.cli.common import json_option, print_json
from semif.cli.options import environment_argument, steps_on_stderr, target_options
from semif.deployment import SMOKE_REQUEST
from semif.target import open_target


@click.command()
@environment_argument
@target_options
@json_option
def command(environment: str, on_this_machine: bool, profile: str | None, as_json: bool) -> None:
    """Deploy ENV, from its artifacts to an endpoint.

    It deploys the Artifacts stack, runs the builds, writes the lock, deploys the Endpoint stack and asks a
    first decision. Run it again after a change; what has not changed is not made again. `semif diff ENV`
    shows beforehand what would change. With --local everything happens on this machine: the stacks, the
    builds and the endpoint stay until `semif destroy ENV --local`.

    \b
    Examples:
      semif deploy dev
      semif deploy demo --local
    """
    steps = steps_on_stderr()
    if on_this_machine:
        target = start_local(steps, environment)
    else:
        target = open_target(environment, on_this_machine=False, profile=profile)
    answer = deploy_chain(steps, target)
    if as_json:
        lock = target.read_lock()
        print_json(
            {
                "environment": environment,
                "account": target.account,
                "region": target.aws.region,
                "endpoint": target.environment.endpoint_name,
                "image": lock.image_uri,
                "model": lock.model.s3_uri,
            }
        )
        return
    show_answer(Console(highlight=False), SMOKE_REQUEST, answer)
    click.echo(f"{target.environment.endpoint_name} is in service. Ask it with")
    click.echo(f"  semif decide {target.command_line} examples/routing.json")
