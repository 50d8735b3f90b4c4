"""Many decisions at one pace: refusals for lack of room, failures as values, answers as they come."""

import asyncio
import itertools
from collections import Counter
from collections.abc import Iterator
from threading import Lock
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semif import AsyncDecisionClient, DecisionClient, EachAnswer, Question, Retry
from semif.client.bulk.pace import Pace
from semif.client.errors import (
    AnswerTimeoutError,
    ClosedClientError,
    ContainerFaultError,
    DecisionError,
    OverloadedError,
    RequestRefusedError,
    UnavailableError,
)
from semif.client.retry import Attempt
from semif.errors import SemifError
from semif.testing import fake_async_client, fake_client
from semif.testing.answers import Said
from semif_adapter.contract.wire import Decision
from tests.support.machine.fake_clock import FakeClock
from tests.support.servers.hanging import hanging
from tests.support.servers.running import running
from tests.support.servers.sagemaker_stand_in import HANG_UP, Reply, StandIn, adapter_error

QUESTION: Question[str] = Question("q", ["yes", "no"])
FULL = Reply(503, adapter_error("overloaded", retry_after_seconds=0.01))
FAULT = Reply(500, adapter_error("engine_failed"))


class TwoPlaces(StandIn):
    """Answers two at once, and refuses who comes besides."""

    def reset(self) -> None:
        super().reset()
        self.lock, self.inside, self.refused = Lock(), 0, 0

    def answer(self, path: str, body: bytes) -> Reply:
        with self.lock:
            if self.inside == 2:
                self.refused += 1
                return FULL
            self.inside += 1
        try:
            return super().answer(path, body)
        finally:
            with self.lock:
                self.inside -= 1


@pytest.fixture
def two_places(adapter_url: str) -> Iterator[TwoPlaces]:
    with running(TwoPlaces()) as server:
        server.behind = adapter_url
        yield server


def states(number: int) -> list[tuple[str, Question[str]]]:
    return [(f"state {place}", QUESTION) for place in range(number)]


def check_all_answered(found: list[EachAnswer[str]]) -> None:
    assert sorted(answer.position for answer in found) == list(range(40))
    assert [answer.error for answer in found] == [None] * 40
    for answer in found:
        assert answer.result is not None
        assert answer.result.id == f"decision-{answer.position + 1}"


def test_sixteen_at_once_share_a_server_with_two_places(two_places: TwoPlaces) -> None:
    told: list[Attempt] = []
    with DecisionClient(url=two_places.url, connections=16, on_attempt=told.append) as client:
        check_all_answered(list(client.decide_each(states(40))))
    assert two_places.refused == len(told) - 40
    # Each round of refusals halves what is out: few are refused more than once.
    assert {attempt.code for attempt in told} <= {None, "overloaded"}


def test_an_event_loop_does_the_same(two_places: TwoPlaces) -> None:
    async def run() -> list[EachAnswer[str]]:
        async with AsyncDecisionClient(url=two_places.url, connections=16) as client:
            return [answer async for answer in client.decide_each(states(40), concurrency=16)]

    check_all_answered(asyncio.run(run()))


@pytest.mark.parametrize("loop", [False, True])
def test_failures_are_values_and_the_others_go_on(stand_in: StandIn, adapter_url: str, loop: bool) -> None:
    items = [*states(2), ("", QUESTION), *states(2)]
    stand_in.behind, stand_in.script = adapter_url, [FAULT, HANG_UP]
    clock = FakeClock()

    async def run() -> list[EachAnswer[str]]:
        async with AsyncDecisionClient(url=stand_in.url, clock=clock) as client:
            return [answer async for answer in client.decide_each(items, concurrency=1)]

    if loop:
        found = asyncio.run(run())
    else:
        with DecisionClient(url=stand_in.url, clock=clock) as client:
            found = list(client.decide_each(items, concurrency=1))
    kinds = {answer.position: type(answer.error) for answer in found}
    nothing = type(None)
    assert kinds == {0: ContainerFaultError, 1: nothing, 2: RequestRefusedError, 3: nothing, 4: nothing}
    assert len(stand_in.bodies) == 5  # the second was sent again, the third never


def test_answers_come_before_all_items_are_read(stand_in: StandIn, adapter_url: str) -> None:
    stand_in.behind = adapter_url
    read = 0

    def endless() -> Iterator[tuple[str, Question[str]]]:
        nonlocal read
        for read in itertools.count():
            yield f"state {read}", QUESTION

    with DecisionClient(url=stand_in.url) as client:
        found = list(itertools.islice(client.decide_each(endless(), concurrency=2), 5))
    assert len(found) == 5
    assert read < 10


def test_who_stops_reading_cuts_off_what_is_out(stand_in: StandIn) -> None:
    with hanging() as server, DecisionClient(url=server.url) as client:
        answers = client.decide_each([("", QUESTION), *states(3)], concurrency=4)
        assert type(next(answers).error) is RequestRefusedError
        answers.close()  # type: ignore[attr-defined]  # a generator's
        (late,) = client.decide_each(states(1), timeout=0.2)
        assert type(late.error) is AnswerTimeoutError


def test_a_server_with_no_room_for_anybody_is_given_up(stand_in: StandIn) -> None:
    stand_in.script = [Reply(503, adapter_error("overloaded", retry_after_seconds=4))] * 99
    clock = FakeClock()
    retry = Retry(total_seconds=10)
    with DecisionClient(url=stand_in.url, clock=clock, retry=retry) as client:
        found = list(client.decide_each(states(2), concurrency=1))
    assert [type(answer.error) for answer in found] == [OverloadedError] * 2
    assert sum(clock.waits) <= 20


class Crowded:
    """Fails three times at each state, then answers; every third fails once, then with a fault of its own."""

    def __init__(self, kind: type[DecisionError]) -> None:
        self._asked: Counter[str] = Counter()
        self._kind = kind

    def __call__(self, decision: Decision) -> Said:
        state = str(decision.state)
        self._asked[state] += 1
        faulty = state.endswith(("0", "3", "6", "9"))
        if state != LAST[0] and self._asked[state] <= (1 if faulty else 3):
            return self._kind("not now", retry_after_seconds=0.5)
        return ContainerFaultError("broken") if faulty else "yes"


LAST = ("last", QUESTION.text, ["yes", "no"])
"""A fake answers in the order in which it was asked: when this is answered, so is all before."""
FAULTY = [ContainerFaultError if place % 3 == 0 else None for place in range(10)]


def kinds(answers: list[EachAnswer[str]]) -> list[type[DecisionError] | None]:
    ordered = sorted(answers, key=lambda answer: answer.position)
    return [None if answer.error is None else type(answer.error) for answer in ordered]


@pytest.mark.parametrize("kind", [OverloadedError, UnavailableError])
@pytest.mark.parametrize("concurrency", [1, 4, 40])
def test_who_takes_answers_slowly_gives_nobody_up(concurrency: int, kind: type[DecisionError]) -> None:
    """The time that the caller takes is not the server's, which answers at once."""
    clock = FakeClock()
    told: list[Attempt] = []
    how: dict[str, Any] = {"retry": Retry(), "clock": clock, "on_attempt": told.append}

    def run() -> list[EachAnswer[str]]:
        found = []
        with fake_client(Crowded(kind), **how) as client:
            for answer in client.decide_each(states(10), concurrency=concurrency):
                found.append(answer)
                client.decide(*LAST)
                clock.time += 100
        return found

    async def run_async() -> list[EachAnswer[str]]:
        found = []
        async with fake_async_client(Crowded(kind), **how) as client:
            async for answer in client.decide_each(states(10), concurrency=concurrency):
                found.append(answer)
                await client.decide(*LAST)
                clock.time += 100
        return found

    assert kinds(run()) == FAULTY
    assert kinds(asyncio.run(run_async())) == FAULTY
    assert {attempt.seconds for attempt in told} == {0}


@pytest.mark.parametrize("kind", [OverloadedError, UnavailableError])
@pytest.mark.parametrize("concurrency", [1, 4, 40])
def test_items_that_come_late_give_nobody_up(concurrency: int, kind: type[DecisionError]) -> None:
    clock = FakeClock()
    with fake_client(Crowded(kind), retry=Retry(), clock=clock) as client:

        def late() -> Iterator[tuple[str, Question[str]]]:
            for item in states(10):
                client.decide(*LAST)
                clock.time += 100
                yield item

        assert kinds(list(client.decide_each(late(), concurrency=concurrency))) == FAULTY


def test_a_server_that_takes_long_to_refuse_is_given_up_too() -> None:
    """Three refusals of twenty seconds after the first one, and what was waited between them."""
    clock = FakeClock()

    def full(decision: Decision) -> Said:
        clock.time += 20
        return OverloadedError("full")

    with fake_client(full, retry=Retry(total_seconds=60), clock=clock) as client:
        (found,) = client.decide_each(states(1))
    assert found.error is not None
    assert (type(found.error), found.error.attempts) == (OverloadedError, 4)


def test_what_makes_no_sense_is_refused(stand_in: StandIn) -> None:
    client = DecisionClient(url=stand_in.url, connections=4)
    for number, message in (
        (0, "must be a whole number of 1 or more"),
        (5, "must be 1 to 4, the connections="),
    ):
        with pytest.raises(SemifError, match=f"concurrency = {number}: {message}"):
            client.decide_each(states(1), concurrency=number)
    with pytest.raises(SemifError, match="timeout = 0"):
        client.decide_each(states(1), timeout=0)
    assert list(client.decide_each([])) == []
    state, question = states(1)[0]
    for wrong in ("xy", (state,), (state, "Which team?"), (state, question, "id", "more"), None):
        with pytest.raises(SemifError, match=r"item 1: must be \(state, question\) or"):
            list(client.decide_each([(state, question), wrong], concurrency=1))  # type: ignore[list-item]
    client.close()
    with pytest.raises(ClosedClientError):
        client.decide_each(states(1))


@given(st.lists(st.sampled_from(["answered", "refused", "failed", "wait"]), max_size=200), st.integers(1, 40))
def test_a_pace_never_stands_still_and_never_lets_too_many_out(events: list[str], most: int) -> None:
    clock = FakeClock()
    pace = Pace(most, Retry(), clock)
    out: list[int] = []
    for event in events:
        while pace.has_room:
            out.append(pace.begin())
        assert len(out) <= most
        if not out:
            assert pace.seconds_to_wait > 0
            clock.time += pace.seconds_to_wait
        elif event == "answered":
            out.pop()
            pace.answered()
        elif event == "refused":
            pace.refused(out.pop(), 0.5, 0.1)
        elif event == "failed":
            out.pop()
            pace.failed()
        else:
            clock.time += 1
