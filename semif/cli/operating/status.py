"""`semif status`: what is deployed, what the lock pins, and whether they agree."""

from dataclasses import asdict, dataclass
from itertools import islice
from typing import Any

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from semif.aws.stacks import find_stack
from semif.background.transform.deployed_model import find_model, model_problems
from semif.background.transform.jobs import SHOWN_JOBS, jobs_of
from semif.builds.environment_builds import stale_image
from semif.cli.options import environment_argument, target_options
from semif.cli.output import json_option, print_json
from semif.deployment.stages import endpoint_problems
from semif.errors import SemifError
from semif.lock.lock_file import Lock
from semif.target.endpoint_state import find_endpoint
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
    stacks = _stacks(target)
    lock, problems = _lock(target)
    deployed = (
        _of_jobs(target, lock) if target.environment.endpoint.mode == "batch" else _of_endpoint(target, lock)
    )
    problems.extend(deployed.problems)
    note = stale_image(target, lock) if lock is not None else None
    if as_json:
        print_json(
            {
                "environment": environment,
                "account": target.account,
                "region": target.aws.region,
                "stacks": stacks,
                **deployed.told,
                "lock": None if lock is None else lock.model_dump(mode="json", by_alias=True),
                "problems": problems,
                "notes": [note] if note else [],
            }
        )
    else:
        _show(target, stacks, deployed, lock, problems)
        if note:
            click.echo(f"  note: {note}")
    if problems:
        raise click.exceptions.Exit(1)


@dataclass(frozen=True)
class _Deployed:
    """What runs: for programs, as rows for people, and what is wrong with it."""

    told: dict[str, Any]
    rows: list[tuple[str, str, str]]
    problems: list[str]
    verdict: str
    """Where nothing is wrong."""


def _of_endpoint(target: Target, lock: Lock | None) -> _Deployed:
    endpoint = find_endpoint(target.aws, target.environment.endpoint_name)
    problems, rows = [], []
    if lock is not None:
        problems = endpoint_problems(target, endpoint, lock)
    elif endpoint is None:
        problems = [f"there is no endpoint {target.environment.endpoint_name}"]
    if endpoint is not None:
        placed = " or ".join(endpoint.instance_types)
        counts = f"{endpoint.instances} of {endpoint.desired_instances} instances"
        rows = [("endpoint", endpoint.name, f"{endpoint.status}, {counts}, {placed}")]
    told = {"endpoint": None if endpoint is None else asdict(endpoint)}
    return _Deployed(told, rows, problems, "the endpoint runs what the lock pins")


def _of_jobs(target: Target, lock: Lock | None) -> _Deployed:
    model = find_model(target)
    jobs = list(islice(jobs_of(target.aws, target.environment.endpoint_name), SHOWN_JOBS))
    told = {
        "model": None if model is None else asdict(model),
        "jobs": [{"name": job.name, "status": job.status, "reason": job.reason} for job in jobs],
    }
    rows = [("model", model.name, "for transform jobs")] if model is not None else []
    rows += [("job", job.name, f"{job.status}{f', {job.reason}' if job.reason else ''}") for job in jobs]
    problems = model_problems(target, model, lock) if lock is not None else []
    return _Deployed(told, rows, problems, "transform jobs run what the lock pins")


def _stacks(target: Target) -> dict[str, str | None]:
    names = (target.environment.artifacts_stack, target.environment.endpoint_stack)
    found = {name: find_stack(target.aws, name) for name in names}
    return {name: stack.status if stack else None for name, stack in found.items()}


def _lock(target: Target) -> tuple[Lock | None, list[str]]:
    try:
        return target.read_lock(), []
    except SemifError as error:
        return None, [str(error)]


def _show(
    target: Target,
    stacks: dict[str, str | None],
    deployed: _Deployed,
    lock: Lock | None,
    problems: list[str],
) -> None:
    console = Console(highlight=False, soft_wrap=True)
    console.print(f"[bold]{target.environment.name}[/] in account {target.account}, {target.aws.region}")
    table = Table.grid(padding=(0, 2))
    for name, status in stacks.items():
        table.add_row("  stack", name, status or "not deployed")
    for kind, name, words in deployed.rows:
        table.add_row(f"  {kind}", name, escape(words))
    console.print(table)
    if lock is not None:
        console.print(f"  image  {escape(lock.image_uri)}")
        console.print(f"  model  {escape(lock.model.name)}, {escape(lock.model.address)}")
    for problem in problems:
        console.print(f"  [red]![/] {escape(problem)}")
    if not problems:
        console.print(f"  [green]{deployed.verdict}[/]")
