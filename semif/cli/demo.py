"""`semif demo`: the whole chain on this machine, on the embedded model, and nothing left of it."""

import signal
import time
from contextlib import suppress
from pathlib import Path
from types import FrameType

import click
from rich.console import Console

from semif import local
from semif.cli.answers import show_answer
from semif.cli.chain import deploy_chain, sole_work, start_local
from semif.cli.destroy import destroy_chain
from semif.cli.options import steps_on_stderr
from semif.cli.steps import Steps
from semif.environment import load_environment
from semif.errors import SemifError
from semif.invoke import ask_endpoint, request_body
from semif.project import project_root
from semif.stacks import find_stack

ENVIRONMENT = "demo"
EXAMPLES = ("routing.json", "yes-or-no.json", "two-questions.json")


@click.command()
def command() -> None:
    """Show the whole chain on this machine.

    It packs, verifies, deploys, hosts and asks a small model, as `semif deploy demo --local` does, asks the
    requests in examples/, and takes everything away again; so it refuses to run where demo is deployed on
    this machine already. It needs no account; the first run downloads the model (98 MB) and what packs it.
    """
    began = time.monotonic()
    with sole_work(on_this_machine=True):
        _show(project_root())
    click.echo(f"the chain took {time.monotonic() - began:.0f} s, and everything was taken away again")
    click.echo("demo: ok")


def _stop(number: int, _: FrameType | None) -> None:
    """End as on Ctrl-C, through the clean-up; by itself SIGTERM ends Python on the spot."""
    raise SystemExit(128 + number)


def _show(root: Path) -> None:
    running = local.find_server(root)
    environment = load_environment(ENVIRONMENT)
    stacks = (environment.artifacts_stack, environment.endpoint_stack)
    if running is not None and any(find_stack(running.aws(), stack) for stack in stacks):
        raise SemifError(
            f"{ENVIRONMENT} is deployed on this machine already, and the demo would take it away; "
            f"run `semif destroy {ENVIRONMENT} --local` first"
        )
    signal.signal(signal.SIGTERM, _stop)
    try:
        _run(steps_on_stderr())
    finally:
        if running is None:
            # After a success the server is gone already; after a failure nothing may be left running.
            with suppress(SemifError):
                local.stop_server(root)
            local.lock_path(root, ENVIRONMENT).unlink(missing_ok=True)


def _run(steps: Steps) -> None:
    target = start_local(steps, ENVIRONMENT, tied=True)
    deploy_chain(steps, target)
    console = Console(highlight=False)
    for name in EXAMPLES:
        path = target.root / "examples" / name
        body = request_body(path.read_bytes(), name=str(path))
        with steps.step(f"ask examples/{name}"):
            answer = ask_endpoint(target.aws, target.environment.endpoint_name, body)
        show_answer(console, body, answer)
    destroy_chain(steps, target)
