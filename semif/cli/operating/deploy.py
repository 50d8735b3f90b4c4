"""`semif deploy`: the whole chain."""

import click
from rich.console import Console

from semif.cli.answer_bars import show_answer
from semif.cli.deployment_steps import deploy_chain, sole_work, start_local
from semif.cli.options import environment_argument, steps_on_stderr, target_options
from semif.cli.output import json_option, print_json
from semif.client.chat import Completion
from semif.deployment.first_answer import SMOKE_REQUEST
from semif.environment.asking import asking_command
from semif.target.target import open_target


@click.command()
@environment_argument
@target_options
@json_option
def command(environment: str, on_this_machine: bool, profile: str | None, as_json: bool) -> None:
    """Deploy ENV, from its artifacts to an endpoint.

    It deploys the Artifacts stack, runs the builds, writes the lock, deploys the Endpoint stack and asks for
    a first answer. It shows what the endpoint is like meanwhile. Where SageMaker rolls the change back it
    fails, with the reason and the last lines of a container that did not start. The lock of what was deployed
    before is kept for `semif rollback ENV`.

    Run it again after a change; what has not changed is not made again. `semif diff ENV` shows beforehand
    what would change. In an account it first looks whether the CDK's bootstrap and the
    quotas allow it, as `semif env check ENV --account` does. With --local everything happens on this machine:
    the stacks, the builds and the endpoint stay until `semif destroy ENV --local`.

    \b
    Examples:
      semif deploy dev
      semif deploy demo --local
    """
    steps = steps_on_stderr()
    with sole_work(on_this_machine=on_this_machine):
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
                "model": lock.model.address,
            }
        )
        return
    name = target.environment.endpoint_name
    if answer is None:
        click.echo(
            f"the model of {name} is ready for transform jobs; between jobs nothing runs. Run one with"
        )
        click.echo(f"  semif batch {target.command_line} FILE.jsonl")
        return
    if isinstance(answer, Completion):
        click.echo(answer.text or "the model thinks before it speaks, longer than a first answer may be")
    else:
        show_answer(Console(highlight=False), SMOKE_REQUEST, answer)
    click.echo(f"{name} is in service. Ask it with")
    example = "routing" if target.environment.endpoint.mode == "realtime" else "requests"
    file = "FILE" if target.environment.kind == "text" else f"examples/{example}"
    click.echo(f"  {asking_command(target.environment, target.command_line, file)}")
