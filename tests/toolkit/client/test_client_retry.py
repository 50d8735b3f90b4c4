"""When it is asked again: the waits of any sequence of failures."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semif import Retry
from semif.client.errors import AnswerTimeoutError, DecisionError, OverloadedError
from semif.client.retry import QUEUEING, Attempt, Attempts, Clock, until_answered
from semif.errors import SemifError
from tests.support.machine.fake_clock import FakeClock


def waits_until_the_end(retry: Retry, clock: FakeClock, hints: list[float | None]) -> list[float]:
    """What is waited while every attempt fails with the next hint."""
    told: list[Attempt] = []
    attempts = Attempts(retry, clock, told.append)
    for hint in hints:
        attempts.begin()
        error = OverloadedError("busy", status=503, retry_after_seconds=hint)
        try:
            clock.sleep(attempts.failed(error))
        except DecisionError:
            break
    assert [attempt.number for attempt in told] == list(range(1, len(told) + 1))
    assert error.attempts in {0, len(told)}
    return clock.waits


def test_waits_double_up_to_the_cap() -> None:
    retry = Retry(max_attempts=7, base_seconds=1, cap_seconds=10, total_seconds=100)
    assert waits_until_the_end(retry, FakeClock(share=1), [None] * 9) == [1, 2, 4, 8, 10, 10]
    assert waits_until_the_end(retry, FakeClock(share=0), [None] * 9) == [0, 0, 0, 0, 0, 0]


@pytest.mark.parametrize(("retry", "waits"), [(Retry(), []), (QUEUEING, [8.0, 16.0])])
def test_what_got_no_answer_in_time_is_asked_again_only_where_requests_wait_in_the_server(
    retry: Retry, waits: list[float]
) -> None:
    clock, sent = FakeClock(share=1), []

    def send(seconds: float | None) -> bytes:
        sent.append(seconds)
        raise AnswerTimeoutError("the container did not answer", status=0)

    with pytest.raises(AnswerTimeoutError):
        until_answered(send, retry=retry, clock=clock)
    assert (clock.waits, len(sent)) == (waits, len(waits) + 1)


def test_no_attempt_begins_after_the_end() -> None:
    retry = Retry(max_attempts=99, base_seconds=4, cap_seconds=4, total_seconds=10)
    assert waits_until_the_end(retry, FakeClock(share=1), [None] * 99) == [4, 4]


@given(
    retry=st.builds(
        Retry,
        max_attempts=st.integers(1, 2000),
        base_seconds=st.floats(0, 1e6),
        cap_seconds=st.floats(0, 1e6),
        total_seconds=st.floats(0, 1e6),
    ),
    share=st.floats(0, 1),
    hints=st.lists(st.none() | st.floats(0, 1e9), min_size=1, max_size=30),
)
def test_every_wait_is_hint_plus_at_most_the_cap_within_the_total(
    retry: Retry, share: float, hints: list[float | None]
) -> None:
    clock = FakeClock(share)
    clock.time = 0.0  # later it could not tell the shortest waits
    waits = waits_until_the_end(retry, clock, hints)
    assert len(waits) < retry.max_attempts
    assert sum(waits) <= retry.total_seconds * (1 + 1e-9)
    for wait, hint in zip(waits, hints, strict=False):
        assert (hint or 0) <= wait <= (hint or 0) + retry.cap_seconds


def test_many_attempts_do_not_overflow() -> None:
    retry = Retry(max_attempts=5000, base_seconds=1e-9, cap_seconds=1e-9, total_seconds=1)
    assert len(waits_until_the_end(retry, FakeClock(), [None] * 5000)) == 4999


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"max_attempts": 0}, "max_attempts = 0: must be a whole number of 1 or more"),
        ({"total_seconds": -1}, "total_seconds = -1: must be a number of 0 or more, and finite"),
        ({"total_seconds": "9"}, "total_seconds = '9': must be a number"),
        ({"max_attempts": "9"}, "max_attempts = '9': must be a whole number"),
        ({"cap_seconds": float("nan")}, "cap_seconds = nan: must be a number of 0 or more"),
        ({"base_seconds": float("inf")}, "base_seconds = inf: must be a number of 0 or more"),
    ],
)
def test_settings_that_make_no_sense_are_refused(values: dict[str, float], message: str) -> None:
    with pytest.raises(SemifError, match=message):
        Retry(**values)  # type: ignore[arg-type]  # max_attempts is an int where it is given


def test_the_systems_clock_goes_on_and_its_chance_is_a_share() -> None:
    clock = Clock()
    began = clock.now()
    clock.sleep(0)
    assert clock.now() >= began
    assert all(0 <= clock.share() <= 1 for _ in range(100))
