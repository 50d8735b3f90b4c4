"""`semif deploy`: the whole chain."""

import click
from rich.console import Console

from semif.cli.answer_bars import show_answer
from semif.cli.deployment_steps import deploy_chain, sole_work, start_local
from semif.cli.options import environment_argument, steps_on_stderr, target_options
from semif.cli.output import json_option, print_json
from semif.client.chat import Completion
from semif.deployment.endpoint.expiry import deployed_expiry
from semif.deployment.kinds import DEPLOYED_KINDS
from semif.deployment.removal import gap_of
from semif.environment.asking import example_command
from semif.target.target import Target, open_target


@click.command()
@environment_argument
@click.option("--recreate", is_flag=True, help="Delete the endpoint first: no spare quota, but a gap.")
@click.option("--yes", is_flag=True, help="With --recreate: do not ask.")
@target_options
@json_option
def command(
    environment: str,
    *,
    recreate: bool,
    yes: bool,
    on_this_machine: bool,
    profile: str | None,
    as_json: bool,
) -> None:
    """Deploy ENV, from its artifacts to an endpoint.

    It deploys the Artifacts stack, runs the builds, writes the lock, deploys the Endpoint stack and asks for
    a first answer. It shows what the endpoint is like meanwhile. Where SageMaker rolls the change back it
    fails, with the reason and the last lines of a container that did not start. The lock of what was deployed
    before is kept for `semif rollback ENV`.

    Run it again after a change; what has not changed is not made again. `semif diff ENV` shows beforehand
    what would change. In an account it first looks whether the CDK's bootstrap and the
    quotas allow it, as `semif env check ENV --account` does. With --local everything happens on this machine:
    the stacks, the builds and the endpoint stay until `semif destroy ENV --local`.

    With endpoint.expires_after_hours the endpoint is deleted that long after this; deploying again puts it
    off, or makes it anew where it is gone.

    An update starts a second fleet beside the one that runs, or a batch, and needs quota for both. Where
    there is none, --recreate deletes the endpoint first and makes it anew. Nobody is answered meanwhile: it
    says for how long and what else goes, and asks.

    \b
    Examples:
      semif deploy dev
      semif deploy demo --local
      semif deploy dev --recreate
    """
    if yes and not recreate:
        raise click.UsageError("--yes goes with --recreate; nothing else here asks")
    steps = steps_on_stderr()
    with sole_work(on_this_machine=on_this_machine):
        if on_this_machine:
            target = start_local(steps, environment)
        else:
            target = open_target(environment, on_this_machine=False, profile=profile)
        if recreate and not yes:
            _confirm_gap(target)
        answer = deploy_chain(steps, target, recreate=recreate)
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
                "expires_at": None if (expiry := deployed_expiry(target)) is None else expiry.isoformat(),
            }
        )
        return
    deployed = target.environment
    if isinstance(answer, Completion):
        click.echo(answer.text or "the model thinks before it speaks, longer than a first answer may be")
    elif answer is not None:
        show_answer(Console(highlight=False), DEPLOYED_KINDS[deployed.kind].smoke_request, answer)
    click.echo(deployed.inference_mode.ready(deployed.endpoint_name))
    click.echo(f"  {example_command(deployed, target.command_line)}")


def _confirm_gap(target: Target) -> None:
    """Say what making the endpoint anew costs, and ask; nothing where there is none."""
    lines = list(gap_of(target))
    if lines:
        for line in lines:
            click.echo(line, err=True)
        click.confirm("Delete it, and make it anew?", abort=True, err=True)
