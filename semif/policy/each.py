"""Many decisions under one policy: an endpoint is asked about all that want it, at one pace, then the next.

So outcomes come as the first endpoint answers, and those of what is escalated come last.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from semif.client.bulk.each import EachAnswer
from semif.client.errors import DecisionError
from semif.client.questions import Question
from semif.errors import SemifError
from semif.policy.criteria import Criteria
from semif.policy.deliberation import Deliberation, EndpointName, case_to_ask, deliberate, unanswered
from semif.policy.outcome import Outcome

if TYPE_CHECKING:
    from semif.client.client import DecisionClient
    from semif.client.request import OrderDebiasing
    from semif.client.values.states import State

AskedItem: TypeAlias = "tuple[State, Question[Any]]"


@dataclass(frozen=True)
class EachOutcome:
    """What became of one of the decisions: either `outcome` or `error` is there."""

    position: int
    """Its place among the items, from 0."""
    outcome: Outcome | None
    error: SemifError | None
    """What `Policy.decide` would have raised."""


@dataclass(frozen=True)
class _Open:
    """A decision without an outcome yet."""

    position: int
    item: AskedItem
    deliberation: Deliberation


def outcomes_of_each(
    policy: Criteria,
    items: Iterable[AskedItem],
    clients: "Mapping[EndpointName, DecisionClient]",
    *,
    order_debiasing: "OrderDebiasing",
    accept_mismatch: bool,
) -> Iterator[EachOutcome]:
    """The outcomes as they come. `clients` are the fallback's by name, and under None who is asked first.

    Items are read as there is room for them; those that want a further endpoint are kept until the one before
    it is through.
    """
    further = [name for name in clients if name is not None]
    docket = _Docket(policy, further, accept_mismatch=accept_mismatch)
    for endpoint in (None, *policy.fallback.endpoints):
        opened = docket.opened(items) if endpoint is None else docket.waiting_for(endpoint)
        sent: dict[int, _Open] = {}
        asked = clients[endpoint].decide_each(_sent(opened, sent), order_debiasing=order_debiasing)
        for answer in asked:
            docket.hear(sent.pop(answer.position), answer)
            yield from docket.settled()
        yield from docket.settled()


def _sent(opened: Iterable[_Open], sent: dict[int, _Open]) -> Iterator[AskedItem]:
    """The items of `opened`, each put into `sent` under its place when it is taken."""
    for place, one in enumerate(opened):
        sent[place] = one
        yield one.item


class _Docket:
    """All decisions of a file: who waits for which endpoint, and what is settled."""

    def __init__(self, policy: Criteria, further: Iterable[str], *, accept_mismatch: bool) -> None:
        self._policy = policy
        self._further = tuple(further)
        self._accept_mismatch = accept_mismatch
        self._settled: deque[EachOutcome] = deque()
        self._waiting: dict[EndpointName, deque[_Open]] = {name: deque() for name in (None, *self._further)}

    def opened(self, items: Iterable[AskedItem]) -> Iterator[_Open]:
        """Those that no rule decides: the model is to be asked."""
        for position, (state, question) in enumerate(items):
            try:
                case = case_to_ask(
                    self._policy,
                    question,
                    self._further,
                    state=state,
                    decision=question.id,
                    accept_mismatch=self._accept_mismatch,
                )
            except SemifError as error:
                self._settled.append(EachOutcome(position, None, error))
                continue
            self._go_on(_Open(position, (state, question), deliberate(case)), None)
            yield from self.waiting_for(None)

    def waiting_for(self, endpoint: EndpointName) -> Iterator[_Open]:
        """Those that want to hear this endpoint; each is taken off the list."""
        while self._waiting[endpoint]:
            yield self._waiting[endpoint].popleft()

    def hear(self, one: _Open, answer: EachAnswer[Any]) -> None:
        """Take what the endpoint said that `one` waited for."""
        try:
            reply = answer.result if answer.error is None else unanswered(answer.error)
        except DecisionError as error:
            self._settled.append(EachOutcome(one.position, None, error))
        else:
            self._go_on(one, reply)

    def settled(self) -> Iterator[EachOutcome]:
        """What has come to an end since this was asked last."""
        while self._settled:
            yield self._settled.popleft()

    def _go_on(self, one: _Open, reply: Any) -> None:
        try:
            endpoint = one.deliberation.send(reply)
        except StopIteration as end:
            self._settled.append(EachOutcome(one.position, end.value, None))
        except SemifError as error:
            self._settled.append(EachOutcome(one.position, None, error))
        else:
            self._waiting[endpoint].append(one)
