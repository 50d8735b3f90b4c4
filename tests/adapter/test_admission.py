"""The queue's arithmetic, with a clock of the test's own."""

import pytest

from semif_adapter.admission import Admission, TokenRate
from semif_adapter.errors import OverloadedError

DEADLINE = 25.0


def make(tokens_per_second: float = 100.0, **limits: int) -> Admission:
    admission = Admission(**{"max_requests": 16, "max_tokens": 1_000_000, **limits})
    admission.rate = TokenRate(tokens_per_second)
    return admission


def test_the_rate_follows_what_the_machine_does() -> None:
    rate = TokenRate(100)
    for _ in range(50):
        rate.learn(1000, 50)
    assert rate.tokens_per_second == pytest.approx(20, rel=0.01)
    assert rate.best == 100
    for _ in range(50):
        rate.learn(1000, 4)
    assert rate.tokens_per_second == pytest.approx(250, rel=0.01)
    assert rate.best == rate.tokens_per_second


def test_what_would_come_after_its_deadline_is_refused_with_the_time_it_lacks() -> None:
    admission = make()
    for _ in range(2):
        admission.enter(1000, DEADLINE, 0.0)  # 10 s each
    with pytest.raises(OverloadedError, match=r"1000 tokens behind 2000 .* 5\.0 s after") as refused:
        admission.enter(1000, DEADLINE, 0.0)
    assert refused.value.retry_after_seconds == pytest.approx(5.0)
    admission.enter(500, DEADLINE, 0.0)  # a smaller one still fits
    assert admission.backlog_seconds(0.0) == pytest.approx(25.0)


def test_the_running_request_counts_for_what_is_left_of_it() -> None:
    admission = make()
    admission.enter(1000, DEADLINE, 0.0)
    admission.start(1000, 0.0)
    assert admission.queued == 0
    assert admission.backlog_seconds(4.0) == pytest.approx(6.0)
    assert admission.backlog_seconds(60.0) == 0.0
    admission.leave(1000, started=True)
    assert admission.backlog_seconds(4.0) == 0.0


def test_what_leaves_the_queue_makes_room() -> None:
    admission = make()
    for _ in range(2):
        admission.enter(1000, DEADLINE, 0.0)
    admission.leave(1000, started=False)
    admission.enter(1000, DEADLINE, 0.0)
    assert admission.queued == 2


def test_the_queue_is_bounded_in_tokens_but_never_refuses_the_only_request() -> None:
    admission = make(tokens_per_second=1e6, max_tokens=1500)
    admission.enter(2000, DEADLINE, 0.0)
    with pytest.raises(OverloadedError, match=r"2000 tokens are queued, 10 more are over the limit of 1500"):
        admission.enter(10, DEADLINE, 0.0)


def test_places_are_bounded() -> None:
    admission = make(max_requests=2)
    admission.take_place(0.0)
    admission.take_place(0.0)
    admission.enter(1000, DEADLINE, 0.0)
    with pytest.raises(OverloadedError) as refused:
        admission.take_place(0.0)
    assert refused.value.retry_after_seconds == pytest.approx(10.0)
    admission.free_place()
    admission.take_place(0.0)


def test_one_slow_spell_does_not_refuse_an_idle_machines_requests_for_ever() -> None:
    admission = make()
    for _ in range(50):
        admission.rate.learn(1000, 1000)
    admission.enter(2000, DEADLINE, 0.0)
    with pytest.raises(OverloadedError):
        admission.enter(100, DEADLINE, 0.0)


def test_what_no_spell_was_fast_enough_for_is_refused_even_alone() -> None:
    with pytest.raises(OverloadedError) as refused:
        make().enter(2600, DEADLINE, 0.0)
    assert refused.value.retry_after_seconds > 0
