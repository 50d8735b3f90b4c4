"""`semif decide FILE.jsonl`: a decision a line, asked side by side, a record a line as the answers come."""

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple, TypeAlias, get_args

import click

from semif.background.line_records import ANSWERED, FAILED, INVALID, ends_of, invalid, record_line
from semif.background.request_file import RequestFile, RequestLine
from semif.cli.asking.decide_policy import one_decision, options_of
from semif.cli.progress import count_on_stderr
from semif.client.client import DecisionClient
from semif.client.errors import AccessError, DecisionError, NoEndpointError, UnreachableError
from semif.client.questions import Question
from semif.client.request import OrderDebiasing
from semif.errors import SemifError
from semif.policy import Policy
from semif.policy.deliberation import EndpointName
from semif.policy.each import outcomes_of_each
from semif_adapter.contract.wire import DecisionRequest, DecisionResponse

_Record: TypeAlias = dict[str, Any]
_Item: TypeAlias = tuple[Any, Question[Any]]


class UnderPolicy(NamedTuple):
    """The policy that judges the answers."""

    policy: Policy
    accept_mismatch: bool


def decide_file(
    requests: RequestFile, clients: Mapping[EndpointName, DecisionClient], under: UnderPolicy | None
) -> Counter[str]:
    """Print a record for each line. Returns how many ended in which way.

    Raises AccessError where an endpoint does not let the caller ask, NoEndpointError where it is gone, and
    UnreachableError where no server is there.
    """
    counts: Counter[str] = Counter()
    with _progress(requests.path.name) as on_progress:
        try:
            for record in _records(requests, clients, under):
                counts[record["status"]] += 1
                click.echo(record_line(record), nl=False)
                on_progress(counts.total(), len(requests.lines))
        except (DecisionError, KeyboardInterrupt):
            if counts:
                without = len(requests.lines) - counts.total()
                click.echo(f"semif: {ends_of(counts)}; {without:,} lines have no record", err=True)
            raise
    click.echo(f"semif: {ends_of(counts)}", err=True)
    return counts


def _progress(name: str) -> AbstractContextManager[Callable[[int, int], object]]:
    """A terminal that shows the records has no place for a bar."""
    return nullcontext(lambda _done, _total: None) if sys.stdout.isatty() else count_on_stderr(name)


def _records(
    requests: RequestFile, clients: Mapping[EndpointName, DecisionClient], under: UnderPolicy | None
) -> Iterator[_Record]:
    """As they come, after what cannot be asked. Lines that debias orders in one way are asked together."""
    ways: dict[OrderDebiasing, list[RequestLine]] = {way: [] for way in get_args(OrderDebiasing)}
    for line in requests.lines:
        try:
            ways[_request(requests, line).parameters.order_debiasing].append(line)
        except SemifError as error:
            yield invalid(line.number, str(error))
    for way, lines in ways.items():
        items = (_item(_request(requests, line)) for line in lines)
        if under is None:
            yield from _answers(items, lines, clients[None], way)
        else:
            yield from _outcomes(items, lines, clients, under, way)


def _request(requests: RequestFile, line: RequestLine) -> DecisionRequest:
    if line.problem is not None:
        raise SemifError(line.problem)
    return one_decision(requests.body(line), name=f"line {line.number}")


def _item(request: DecisionRequest) -> _Item:
    decision = request.decision
    return decision.state, Question[Any](decision.question, options_of(decision), id=decision.id)


def _answers(
    items: Iterator[_Item], lines: Sequence[RequestLine], client: DecisionClient, way: OrderDebiasing
) -> Iterator[_Record]:
    answered = False
    for answer in client.decide_each(items, order_debiasing=way):
        number = lines[answer.position].number
        if answer.result is None:
            assert answer.error is not None  # one of both is there
            if isinstance(answer.error, UnreachableError) and not answered:
                raise answer.error  # no server is there: each line would take as long to find that out
            yield _failure(number, answer.error)
        else:
            answered = True
            reply = DecisionResponse(result=answer.result.raw).model_dump(mode="json")
            yield {"line": number, "status": ANSWERED, "reply": reply}


def _outcomes(
    items: Iterator[_Item],
    lines: Sequence[RequestLine],
    clients: Mapping[EndpointName, DecisionClient],
    under: UnderPolicy,
    way: OrderDebiasing,
) -> Iterator[_Record]:
    for one in outcomes_of_each(
        under.policy, items, clients, order_debiasing=way, accept_mismatch=under.accept_mismatch
    ):
        number = lines[one.position].number
        if one.outcome is None:
            assert one.error is not None  # one of both is there
            yield _failure(number, one.error)
        else:
            yield {"line": number, "status": ANSWERED, "outcome": one.outcome.model_dump(mode="json")}


def _failure(number: int, error: SemifError) -> _Record:
    if isinstance(error, AccessError | NoEndpointError):  # so would all further lines
        raise error
    if not isinstance(error, DecisionError):  # the policy's: the line was not sent
        return invalid(number, str(error))
    told = {"code": error.code, "message": str(error), "path": error.path, "inference_id": error.inference_id}
    return {
        "line": number,
        "status": FAILED if error.attempts else INVALID,
        "error": {key: value for key, value in told.items() if value is not None},
    }
