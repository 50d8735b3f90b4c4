"""`semif demo`: the whole chain on this machine, on the embedded model, and nothing left of it."""

import json
import signal
import tempfile
import time
from contextlib import suppress
from operator import itemgetter
from pathlib import Path
from types import FrameType

import click
from rich.console import Console

from semif.aws.stacks import find_stack
from semif.background.queue.submit import submit
from semif.cli.answer_bars import show_answer
from semif.cli.deployment_steps import deploy_chain, sole_work, start_local
from semif.cli.operating.destroy import destroy_chain
from semif.cli.options import steps_on_stderr
from semif.cli.steps import Steps
from semif.client.chat import chat_request, stream
from semif.client.request import request_body
from semif.environment.environment import Environment, load_environment
from semif.errors import SemifError
from semif.project.root import project_root
from semif.target import local_server
from semif.target.target import Target

EXAMPLES = ("routing.json", "yes-or-no.json", "two-questions.json")
REQUESTS = "requests.jsonl"
"""What an asynchronous environment is asked."""
QUESTIONS = ("Which colour is the sky?", "Write one sentence about the sea.")
"""What an environment of kind `text` is asked."""


@click.command()
@click.option(
    "--env", "environment", default="demo", show_default=True, metavar="ENV", help="What to deploy."
)
def command(environment: str) -> None:
    """Show the whole chain on this machine.

    It packs, verifies, deploys, hosts and asks a small model, as `semif deploy demo --local` does, asks the
    requests in examples/, and takes everything away again; so it refuses to run where demo is deployed on
    this machine already. It needs no account; the first run downloads the model (98 MB) and what packs it.

    With --env it does the same for another environment that this machine can host: demo-pool places the
    endpoint on a pool of instance types, demo-text hosts the published llama.cpp container, asked for words,
    demo-async answers by a queue.

    \b
    Examples:
      semif demo
      semif demo --env demo-text
    """
    began = time.monotonic()
    with sole_work(on_this_machine=True):
        _show(project_root(), load_environment(environment))
    click.echo(f"the chain took {time.monotonic() - began:.0f} s, and everything was taken away again")
    click.echo(f"{environment}: ok")


def _stop(number: int, _: FrameType | None) -> None:
    """End as on Ctrl-C, through the clean-up; by itself SIGTERM ends Python on the spot."""
    raise SystemExit(128 + number)


def _show(root: Path, environment: Environment) -> None:
    name, mode = environment.name, environment.inference_mode
    if not mode.has_endpoint:
        command = mode.asking_command(environment.serving_kind, f"{name} --local", "examples/requests")
        raise SemifError(
            f"{name} {mode.manner}, and the demo asks one by one; run `semif deploy {name} --local` and "
            f"`{command}`"
        )
    running = local_server.find_server(root)
    stacks = (environment.artifacts_stack, environment.endpoint_stack)
    if running is not None and any(find_stack(running.aws(), stack) for stack in stacks):
        raise SemifError(
            f"{name} is deployed on this machine already, and the demo would take it away; "
            f"run `semif destroy {name} --local` first"
        )
    signal.signal(signal.SIGTERM, _stop)
    try:
        _run(steps_on_stderr(), name)
    finally:
        if running is None:
            # After a success the server is gone already; after a failure nothing may be left running.
            with suppress(SemifError):
                local_server.stop_server(root)
            local_server.lock_path(root, name).unlink(missing_ok=True)


def _run(steps: Steps, name: str) -> None:
    target = start_local(steps, name, tied=True)
    deploy_chain(steps, target)
    environment = target.environment
    one_by_one = _decide if environment.serving_kind.asks_examples else _ask
    ask = _BY_MODE.get(environment.endpoint.mode, one_by_one)
    ask(steps, target)
    destroy_chain(steps, target)


def _decide(steps: Steps, target: Target) -> None:
    console = Console(highlight=False)
    client = target.decision_client()
    for name in EXAMPLES:
        path = target.root / "examples" / name
        body = request_body(path.read_bytes(), name=str(path))
        with steps.step(f"ask examples/{name}"):
            answer = client.ask(body)
        show_answer(console, body, answer)


def _submit(steps: Steps, target: Target) -> None:
    with tempfile.TemporaryDirectory() as folder, steps.step(f"submit examples/{REQUESTS}") as step:
        output = Path(folder) / "answers.jsonl"
        submit(target, target.root / "examples" / REQUESTS, output, lambda _done, _total: None)
        answers = [json.loads(line) for line in output.read_bytes().splitlines()]
        if failed := [answer["error"]["message"] for answer in answers if "error" in answer]:
            raise SemifError(f"{len(failed)} of examples/{REQUESTS} got no answer, the first: {failed[0]}")
        step.note = f"{len(answers)} answers"
    for answer in answers:
        result = answer["reply"]["result"]
        shares = zip(result["option_ids"], result["probabilities"], strict=True)
        choice, share = max(shares, key=itemgetter(1))
        click.echo(f"{result['id']}: {choice} {share * 100:.1f} %")


def _ask(steps: Steps, target: Target) -> None:
    for question in QUESTIONS:
        body = chat_request(question, max_tokens=32, temperature=0.0, stream=True)
        with steps.step(f"ask {question}"):
            words = "".join(stream(target.aws, target.environment.endpoint_name, body))
        click.echo(words)


_BY_MODE = {"async": _submit}
"""How the demo asks a mode whose endpoint does not answer one by one."""
