"""`decide_each`: many decisions, each an answer or a failure, as they come."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias

from semif.client.bulk.pace import Pace
from semif.client.call import Call
from semif.client.errors import ClosedClientError, DecisionError, OverloadedError, ThrottledError
from semif.client.questions import Question
from semif.client.request import DECISION_ID, OrderDebiasing, Request, one_decision
from semif.client.results import Choice_co, DecisionResult
from semif.client.retry import Attempt, Attempts, Clock, Retry, checked_count
from semif.client.sending.call_ids import checked_inference_id
from semif.client.sending.transport import Transport
from semif.client.values.states import State
from semif.errors import SemifError

Item: TypeAlias = tuple[State, Question[Choice_co]] | tuple[State, Question[Choice_co], str | None]
"""A state, its question, and maybe the inference id of its call."""


@dataclass(frozen=True)
class EachAnswer(Generic[Choice_co]):
    """What became of one of the decisions: either `result` or `error` is there."""

    position: int
    """Its place among the items, from 0."""
    result: DecisionResult[Choice_co] | None
    error: DecisionError | None

    @property
    def inference_id(self) -> str | None:
        """Of its call; None where nothing was sent."""
        told = self.error if self.result is None else self.result
        return None if told is None else told.inference_id


@dataclass
class _Work(Generic[Choice_co]):
    """An item on its way."""

    position: int
    request: Request[DecisionResult[Choice_co]]
    call: Call
    attempts: Attempts
    ready: float
    """Since when it could be sent, were there room and somebody who asks."""


@dataclass
class _Sent(Generic[Choice_co]):
    """One sending of an item."""

    work: _Work[Choice_co]
    round_: int
    began: float
    replied: float | None = None
    """None until there is a reply, which may be long before anybody looks at it."""


class Bulk(Generic[Choice_co]):
    """The items, what is out, and what comes next; it waits for nothing itself."""

    def __init__(
        self,
        items: "Iterable[Item[Choice_co]]",
        transport: Transport,
        *,
        concurrency: int | None,
        order_debiasing: OrderDebiasing,
        timeout: float | None,
        retry: Retry,
        on_attempt: Callable[[Attempt], object],
        clock: Clock,
    ) -> None:
        """Raises SemifError for more at once than the transport has places."""
        concurrency = transport.connections if concurrency is None else concurrency
        if checked_count("concurrency", concurrency) > transport.connections:
            raise SemifError(
                f"concurrency = {concurrency}: must be 1 to {transport.connections}, the connections= of "
                "this client; make one with more"
            )
        self._items = enumerate(items)
        self._transport = transport
        self._order_debiasing = order_debiasing
        self._timeout = timeout
        self._retry = retry
        self._on_attempt = on_attempt
        self._clock = clock
        self._pace = Pace(concurrency, retry, clock)
        self._waiting: deque[_Work[Choice_co]] = deque()
        self._later: list[_Work[Choice_co]] = []
        self._out: dict[Future[bytes], _Sent[Choice_co]] = {}
        self._calls: set[Call] = set()
        self._exhausted = False

    @property
    def out(self) -> tuple["Future[bytes]", ...]:
        """The requests that were sent and have no reply yet."""
        return tuple(self._out)

    @property
    def done(self) -> bool:
        """Whether nothing is left."""
        return self._exhausted and not (self._waiting or self._later or self._out)

    @property
    def pause(self) -> float | None:
        """Seconds after which more may be sent; None where that takes a reply."""
        pauses = [work.ready - self._clock.now() for work in self._later]
        if (self._waiting or not self._exhausted) and (seconds := self._pace.seconds_to_wait):
            pauses.append(seconds)
        return max(0.0, min(pauses)) if pauses else None

    def send(self) -> Iterator[EachAnswer[Choice_co]]:
        """Send what there is room for. What is refused before it is sent comes back at once."""
        now = self._clock.now()
        self._waiting.extend(work for work in self._later if work.ready <= now)
        self._later = [work for work in self._later if work.ready > now]
        while self._pace.has_room and not (self._exhausted and not self._waiting):
            if self._waiting:
                self._begin(self._waiting.popleft())
                continue
            item = next(self._items, None)
            if item is None:
                self._exhausted = True
            elif isinstance(prepared := self._prepared(*item), EachAnswer):
                yield prepared
            else:
                self._begin(prepared)

    def took(self, future: "Future[bytes]") -> EachAnswer[Choice_co] | None:
        """What came of a request that is done; None where it is sent again."""
        sent = self._out.pop(future)
        work = sent.work
        replied = self._clock.now() if sent.replied is None else sent.replied
        work.attempts.passed_over(self._clock.now() - replied)
        try:
            result = work.call.read(work.request, future.result())
        except ClosedClientError:
            raise
        except (OverloadedError, ThrottledError) as error:
            if self._pace.refused(sent.round_, error.retry_after_seconds, replied - sent.began):
                work.attempts.refused(error, self._pace.seconds_to_wait)
                work.ready = self._clock.now()
                self._waiting.appendleft(work)
                return None
            work.attempts.gave_up(error)
            return self._ended(work, error=error)
        except DecisionError as error:
            self._pace.failed()
            try:
                seconds = work.attempts.failed(error)
            except DecisionError:
                return self._ended(work, error=error)
            work.ready = self._clock.now() + seconds
            self._later.append(work)
            return None
        self._pace.answered()
        work.attempts.succeeded()
        return self._ended(work, result=result)

    def stop(self) -> None:
        """Cut off what is out."""
        for future in self._out:
            future.cancel()
        for call in self._calls:
            call.end(asyncio.CancelledError())

    def _ended(
        self,
        work: "_Work[Choice_co]",
        *,
        result: DecisionResult[Choice_co] | None = None,
        error: DecisionError | None = None,
    ) -> EachAnswer[Choice_co]:
        self._calls.discard(work.call)
        work.call.end(error)
        return EachAnswer(work.position, result, error)

    def _prepared(self, position: int, item: "Item[Choice_co]") -> "_Work[Choice_co] | EachAnswer[Choice_co]":
        match item:
            case (state, Question() as question):
                given = None
            case (state, Question() as question, given):
                pass
            case _:
                raise SemifError(
                    f"item {position}: must be (state, question) or (state, question, inference id), with a "
                    "semif.Question"
                )
        try:
            inference_id = checked_inference_id(given)
            request = one_decision(
                state, question, self._order_debiasing, default_id=f"{DECISION_ID}-{position + 1}"
            )
        except DecisionError as error:
            return EachAnswer(position, None, error)
        call = Call(self._transport.server, inference_id)
        self._calls.add(call)
        attempts = Attempts(self._retry, self._clock, self._on_attempt, inference_id=inference_id)
        return _Work(position, request, call, attempts, self._clock.now())

    def _begin(self, work: "_Work[Choice_co]") -> None:
        sent = _Sent(work, self._pace.begin(), self._clock.now())
        work.attempts.passed_over(sent.began - work.ready)
        work.attempts.begin()
        future = self._transport.begin(work.request.body, self._timeout, work.call.ids)
        self._out[future] = sent
        future.add_done_callback(lambda _: self._note_reply(sent))

    def _note_reply(self, sent: "_Sent[Choice_co]") -> None:
        """On the thread that has the reply."""
        sent.replied = self._clock.now()


def each(bulk: Bulk[Choice_co], clock: Clock) -> Iterator[EachAnswer[Choice_co]]:
    """The answers as they come, on this thread. Who stops early cuts off what is out."""
    try:
        while not bulk.done:
            yield from bulk.send()
            pause = bulk.pause
            if bulk.out:
                ready = wait(bulk.out, timeout=pause, return_when=FIRST_COMPLETED).done
            else:
                ready = set()
                clock.sleep(pause or 0)
            yield from _taken(bulk, ready)
    finally:
        bulk.stop()


async def each_async(bulk: Bulk[Choice_co], clock: Clock) -> AsyncIterator[EachAnswer[Choice_co]]:
    """The answers as they come, on an event loop."""
    known: dict[Future[bytes], asyncio.Future[bytes]] = {}
    try:
        while not bulk.done:
            for refused in bulk.send():
                yield refused
            pause = bulk.pause
            if bulk.out:
                known |= {future: asyncio.wrap_future(future) for future in bulk.out if future not in known}
                await asyncio.wait(known.values(), timeout=pause, return_when=asyncio.FIRST_COMPLETED)
            else:
                await clock.pause(pause or 0)
            ready = [future for future, waited in known.items() if waited.done()]
            for future in ready:
                known.pop(future).exception()  # or the loop says that nobody asked for it
            for answer in _taken(bulk, ready):
                yield answer
    finally:
        bulk.stop()


def _taken(bulk: Bulk[Choice_co], ready: "Iterable[Future[Any]]") -> Iterator[EachAnswer[Choice_co]]:
    for future in ready:
        if (answer := bulk.took(future)) is not None:
            yield answer
