"""`semif status`: what is deployed, what the lock pins, and whether they agree."""

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from semif.aws.stacks import Stack, find_stack
from semif.builds.environment_builds import stale_image
from semif.cli.options import environment_argument, target_options
from semif.cli.output import json_option, print_json
from semif.deployment.endpoint.expiry import expiry_of, expiry_words
from semif.deployment.modes import deployed_mode
from semif.deployment.modes.mode import Running
from semif.environment.cost import instance_cost
from semif.errors import SemifError
from semif.lock.lock_file import Lock
from semif.target.prices import current_prices
from semif.target.target import Target, open_target


@click.command()
@environment_argument
@target_options
@json_option
def command(environment: str, on_this_machine: bool, profile: str | None, as_json: bool) -> None:
    """Show what of ENV runs, and what it pins.

    Shows the stacks, the endpoint (in mode batch the model and its last jobs), the pins of the lock, and
    whether they agree. Exit status 0 when the endpoint is in service and runs what the lock pins, else 1.
    That the adapter's source has changed since the locked image was built is a note and no problem.

    \b
    Examples:
      semif status dev
      semif status demo --local --json
    """
    target = open_target(environment, on_this_machine=on_this_machine, profile=profile)
    found = _stacks(target)
    stacks = {name: stack.status if stack else None for name, stack in found.items()}
    expiry = expiry_of(found[target.environment.endpoint_stack])
    lock, problems = _lock(target)
    running = deployed_mode(target.environment).running(target, lock)
    problems.extend(running.problems)
    if expiry is not None:
        running.rows.append(("end", expiry_words(expiry), "when the endpoint is deleted"))
    note = stale_image(target, lock) if lock is not None else None
    if as_json:
        print_json(
            {
                "environment": environment,
                "account": target.account,
                "region": target.aws.region,
                "stacks": stacks,
                **running.facts,
                "expires_at": None if expiry is None else expiry.isoformat(),
                "lock": None if lock is None else lock.model_dump(mode="json", by_alias=True),
                "cost": None if target.local else list(_cost(target)),
                "problems": problems,
                "notes": [note] if note else [],
            }
        )
    else:
        _show(target, stacks, running, lock, problems)
        if note:
            click.echo(f"  note: {note}")
    if problems:
        raise click.exceptions.Exit(1)


def _stacks(target: Target) -> dict[str, Stack | None]:
    names = (target.environment.artifacts_stack, target.environment.endpoint_stack)
    return {name: find_stack(target.aws, name) for name in names}


def _lock(target: Target) -> tuple[Lock | None, list[str]]:
    try:
        return target.read_lock(), []
    except SemifError as error:
        return None, [str(error)]


def _show(
    target: Target,
    stacks: dict[str, str | None],
    running: Running,
    lock: Lock | None,
    problems: list[str],
) -> None:
    console = Console(highlight=False, soft_wrap=True)
    console.print(f"[bold]{target.environment.name}[/] in account {target.account}, {target.aws.region}")
    table = Table.grid(padding=(0, 2))
    for name, status in stacks.items():
        table.add_row("  stack", name, status or "not deployed")
    for kind, name, words in running.rows:
        table.add_row(f"  {kind}", name, escape(words))
    console.print(table)
    if lock is not None:
        for image_uri in lock.image_uris.values():
            console.print(f"  image  {escape(image_uri)}")
        console.print(f"  model  {escape(lock.model.name)}, {escape(lock.model.address)}")
    if not target.local:  # on this machine nothing is billed
        for line in _cost(target):
            console.print(f"  cost   {escape(line)}")
    for problem in problems:
        console.print(f"  [red]![/] {escape(problem)}")
    if not problems:
        console.print(f"  [green]{running.verdict}[/]")


def _cost(target: Target) -> tuple[str, ...]:
    return instance_cost(target.environment, current_prices(target)).lines
