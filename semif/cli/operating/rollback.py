"""`semif rollback`: back to what was deployed before."""

from collections.abc import Iterator
from functools import partial

import click

from semif.cli.deployment_steps import endpoint_steps, sole_work
from semif.cli.options import environment_argument, steps_on_stderr, target_options
from semif.cli.output import json_option, print_json
from semif.deployment.rollback import find_rollback
from semif.deployment.stages import roll_back
from semif.lock.lock_file import Lock, write_lock
from semif.target.target import open_target


@click.command()
@environment_argument
@click.option("--yes", is_flag=True, help="Do not ask.")
@target_options
@json_option
def command(environment: str, yes: bool, on_this_machine: bool, profile: str | None, as_json: bool) -> None:
    """Go back to what was deployed before.

    Puts the lock back that ENV was deployed with before the last successful deployment, deploys the Endpoint
    stack with it and asks for a first answer. It says first what changes, and asks. Nothing is built. The
    environment's settings are the present ones: to go back to other settings, put its file back and deploy.

    Where the lock is not what is deployed, because its deployment failed or has yet to come, the lock of what
    is deployed is put back, and the endpoint left as it is. A rollback is a deployment too: a second one goes
    forward again.

    \b
    Example:
      semif rollback prod
    """
    with sole_work(on_this_machine=on_this_machine):
        target = open_target(environment, on_this_machine=on_this_machine, profile=profile)
        deployed, wanted = find_rollback(target)
        for line in _changes(deployed, wanted):
            click.echo(line, err=True)
        if not yes:
            place = f"{target.environment.endpoint_name} in account {target.account}, {target.aws.region}"
            click.confirm(f"Go back with {place}?", abort=True, err=True)
        if deployed.pins_same_as(wanted):
            write_lock(target.lock_path, wanted)
        else:
            endpoint_steps(steps_on_stderr(), target, partial(roll_back, target, wanted))
    if as_json:
        print_json({"environment": environment, "from": _pins(deployed), "to": _pins(wanted)})
    else:
        click.echo(f"{target.environment.endpoint_name} runs what {target.lock_path} pins.")


def _changes(deployed: Lock, wanted: Lock) -> Iterator[str]:
    if deployed.pins_same_as(wanted):
        yield "the lock on disk is not what is deployed; it is put back, and the endpoint left as it is:"
        yield from (f"  {name}  {pin}" for name, pin in _pins(wanted).items())
        return
    for name, pin in _pins(deployed).items():
        new = _pins(wanted)[name]
        yield f"{name}  {pin}" + (" stays" if new == pin else f"\n    to {new}")


def _pins(lock: Lock) -> dict[str, str]:
    return {"image": lock.image_uri, "model": lock.model.address}
