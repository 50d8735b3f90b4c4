"""`semif demo`: the whole chain on this machine, on the embedded model, and nothing left of it."""

import signal
import time
from contextlib import suppress
from types import FrameType

import click
from rich.console import Console

from semif import local
from semif.cli.answers import show_answer
from semif.cli.chain import deploy_chain, start_local
from semif.cli.destroy import destroy_chain
from semif.cli.options import steps_on_stderr
from semif.cli.steps import Steps
from semif.errors import SemifError
from semif.invoke import ask_endpoint, request_body
from semif.project import project_root

ENVIRONMENT = "demo"
EXAMPLES = ("routing.json", "yes-or-no.json", "two-questions.json")


@click.command()
def command() -> None:
    """Show the whole chain on this machine.

    It packs, verifies, deploys, hosts and asks a small model, as `semif deploy demo --local` does, asks the
    requests in examples/, and takes everything away again. It needs no account; the first run downloads the
    model (98 MB) and what packs it.
    """
    signal.signal(signal.SIGTERM, _stop)
    began = time.monotonic()
    root = project_root()
    was_running = local.find_server(root) is not None
    try:
        _run(steps_on_stderr())
    finally:
        if not was_running:
            # After a success the server is gone already; after a failure nothing may be left running.
            with suppress(SemifError):
                local.stop_server(root)
            local.lock_path(root, ENVIRONMENT).unlink(missing_ok=True)
    click.echo(f"the chain took {time.monotonic() - began:.0f} s, and everything was taken away again")
    click.echo("demo: ok")


def _stop(number: int, _: FrameType | None) -> None:
    """End as on Ctrl-C, through the clean-up; by itself SIGTERM ends Python on the spot."""
    raise SystemExit(128 + number)


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
