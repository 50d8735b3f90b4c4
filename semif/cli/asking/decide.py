"""`semif decide`: ask an endpoint or an adapter."""

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

import click
from rich.console import Console

from semif.background.line_records import ANSWERED
from semif.background.request_file import RequestFile
from semif.cli.answer_bars import show_answer
from semif.cli.asking.decide_file import UnderPolicy, decide_file
from semif.cli.asking.decide_policy import (
    Addressee,
    decide_under,
    further_addressees,
    one_decision,
    show_outcome,
)
from semif.cli.options import api_key, key_remedy, target_options, url_option
from semif.cli.output import json_option
from semif.client.client import DecisionClient
from semif.client.request import request_body
from semif.client.retry import Attempt
from semif.client.transports.open_transport import CONNECTIONS
from semif.environment.asking import require_kind, require_mode
from semif.environment.environment import load_environment
from semif.errors import SemifError
from semif.policy import load_policy
from semif.policy.deliberation import EndpointName
from semif.project.whole_files import read_bounded, read_whole
from semif.target.target import open_target
from semif_adapter.contract.wire import MAX_BODY_BYTES

_MOST_READ = 2 * MAX_BODY_BYTES
"""Of a request's file, in bytes: what is only too long for SageMaker is told so, with its size."""
_MOST_AT_ONCE = 256


@click.command()
@click.argument("arguments", metavar="[ENV] FILE", nargs=-1)
@url_option
@click.option(
    "--policy",
    "policy_file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Judge the answer by this policy (docs/policy.md).",
)
@click.option(
    "--endpoint",
    "endpoints",
    multiple=True,
    metavar="NAME=URL",
    help="Where an endpoint of the policy's fallback is; else it is the environment of that name.",
)
@click.option(
    "--accept-mismatch",
    is_flag=True,
    help="Take answers that the policy was not made for; the outcome says so.",
)
@click.option(
    "--concurrency",
    type=click.IntRange(1, _MOST_AT_ONCE),
    help=f"Requests out at once, for a FILE of decisions; default: {CONNECTIONS}.",
)
@target_options
@json_option
def command(
    *,
    arguments: tuple[str, ...],
    url: str | None,
    policy_file: Path | None,
    endpoints: tuple[str, ...],
    accept_mismatch: bool,
    concurrency: int | None,
    on_this_machine: bool,
    profile: str | None,
    as_json: bool,
) -> None:
    """Ask an endpoint, show the probabilities.

    Asks the endpoint of ENV, or the adapter at --url, and shows the probability of each option.

    FILE holds a request as JSON, - reads it from standard input: a decision object, or
    {"decision": {...}}, or {"decisions": [...]} for several questions about one state. A request of
    the System One API or of OpenAI's Decisions API is answered too, its reply shown as JSON.

    An environment of kind decider takes System One requests alone.

    A request that meets overload, throttling or a broken connection is sent again, up to four times within
    a minute; standard error tells of it.

    With --policy one decision is judged: what is shown, or printed with --json, is its outcome and the
    reason. The status is 0 whatever the outcome.

    A FILE whose name ends in .jsonl holds a decision a line. They are asked side by side and hold back
    together where the server has no room. Standard output is JSON Lines, with --json and without it, a record
    a line as the answers come, not in the file's order: "line" is the line's number, "status" says whether it
    was answered, failed or is invalid, beside it is "reply", with --policy "outcome", or "error". Lines that
    a policy sends on to a further endpoint come last. The status is 1 where a line has neither reply nor
    outcome. A run that was interrupted begins anew.

    \b
    Examples:
      semif decide dev examples/routing.json
      semif decide demo --local examples/two-questions.json
      semif decide --url http://127.0.0.1:8080 examples/yes-or-no.json --json
      semif decide --url http://127.0.0.1:8080 --policy examples/refunds.policy.toml examples/refund.json
      semif decide --url http://127.0.0.1:8080 examples/requests.jsonl > answers.jsonl
    """
    if len(arguments) != (2 if url is None else 1):
        raise click.UsageError("give ENV and FILE, or --url URL and FILE")
    if url is not None and (on_this_machine or profile):
        raise click.UsageError(
            "--url asks an adapter directly, --local and --profile choose an AWS; give one"
        )
    for name, given in (("--endpoint", endpoints), ("--accept-mismatch", accept_mismatch)):
        if given and policy_file is None:
            raise click.UsageError(f"{name} goes with --policy")
    file, many = arguments[-1], Path(arguments[-1]).suffix == ".jsonl"
    if concurrency is not None and not many:
        raise click.UsageError("--concurrency goes with a FILE of decisions, whose name ends in .jsonl")
    first = Addressee(url, is_url=True) if url is not None else Addressee(arguments[0], is_url=False)
    _refuse_others(first, forms=("decision",) if many else ("decision", "system-one"))
    policy = None if policy_file is None else load_policy(policy_file)
    further = {} if policy is None else further_addressees(policy, endpoints)
    for place in further.values():
        _refuse_others(place, forms=("decision",))
    opened = partial(
        _open_client,
        on_this_machine=on_this_machine,
        profile=profile,
        on_attempt=_tell_nothing if many else _tell_retry,
        connections=concurrency or CONNECTIONS,
    )
    clients = partial(_opened_clients, first, further, opened)
    if many:
        under = None if policy is None else UnderPolicy(policy, accept_mismatch)
        with RequestFile(Path(file), "decision") as requests, clients() as asked:
            counts = decide_file(requests, asked, under)
        if counts[ANSWERED] < counts.total():
            raise click.exceptions.Exit(1)
        return
    name = "standard input" if file == "-" else file
    body = request_body(_read(file), name=name)
    _refuse_form(first, body, name=name)
    console = Console(highlight=False)
    if policy is None:
        with clients() as asked:
            answer = asked[None].ask(body)
        click.echo(answer.raw) if as_json else show_answer(console, body, answer)
        return
    request = one_decision(body, name=name)
    with clients() as asked:
        outcome = decide_under(policy, request, asked, accept_mismatch=accept_mismatch)
    click.echo(outcome.model_dump_json()) if as_json else show_outcome(console, request, outcome)


@contextmanager
def _opened_clients(
    first: Addressee, further: Mapping[str, Addressee], opened: Callable[..., DecisionClient]
) -> Iterator[dict[EndpointName, DecisionClient]]:
    """Clients of the fallback by name, and under None who is asked first."""
    wants_key = first.name if first.is_url and not further else None  # a further one may, which has none here
    with key_remedy(wants_key), ExitStack() as stack:
        clients: dict[EndpointName, DecisionClient] = {
            None: stack.enter_context(opened(first, api_key=api_key()))
        }
        yield clients | {name: stack.enter_context(opened(place)) for name, place in further.items()}


def _open_client(
    place: Addressee,
    *,
    on_this_machine: bool,
    profile: str | None,
    on_attempt: Callable[[Attempt], object],
    connections: int,
    api_key: str | None = None,
) -> DecisionClient:
    """The key is for the address of `--url` alone: other servers must not learn it."""
    if place.is_url:
        return DecisionClient(url=place.name, api_key=api_key, on_attempt=on_attempt, connections=connections)
    target = open_target(place.name, on_this_machine=on_this_machine, profile=profile)
    return target.decision_client(on_attempt, connections=connections)


def _tell_nothing(_: Attempt) -> None:
    """Of many requests at once; what failed in the end is in its line."""


def _tell_retry(attempt: Attempt) -> None:
    if attempt.retry_in_seconds is None:
        return
    failure = [str(part) for part in (attempt.status, attempt.code) if part is not None]
    happened = f"was answered {' '.join(failure)}" if failure else "got no answer"
    click.echo(
        f"semif: attempt {attempt.number} {happened}, the next is in {attempt.retry_in_seconds:.1f} s",
        err=True,
    )


def _refuse_others(place: Addressee, *, forms: tuple[str, ...]) -> None:
    """Refuse an environment that takes none of these forms, or does not answer while the caller waits."""
    if place.is_url:
        return
    environment = load_environment(place.name)
    if not set(forms) & set(environment.serving_kind.forms):
        require_kind(environment, "decision")
    require_mode(environment, "realtime")


def _refuse_form(place: Addressee, body: bytes, *, name: str) -> None:
    """Refuse what the container does not take; our adapter says itself what it does not."""
    kind = None if place.is_url else load_environment(place.name).serving_kind
    if kind is not None and not kind.runs_adapter and (problem := kind.request_problem(json.loads(body))):
        raise SemifError(f"{name} {problem}")


def _read(file: str) -> bytes:
    if file == "-":
        return read_bounded(sys.stdin.buffer, _MOST_READ, "standard input")
    return read_whole(Path(file), _MOST_READ)
