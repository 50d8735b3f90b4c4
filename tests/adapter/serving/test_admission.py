"""The queue's arithmetic, with a clock of the test's own."""

import pytest

from semif_adapter.contract.errors import OverloadedError, PromptTooLongError
from semif_adapter.decoding.steps import Steps
from semif_adapter.engine.computation import Computation, RequestResult, TokenCost
from semif_adapter.serving.admission import Admission, TokenRate
from semif_adapter.serving.admitted_request import AdmittedRequest

DEADLINE = 25.0


def make(tokens_per_second: float = 100.0, **limits: int) -> Admission:
    defaults = {"max_requests": 16, "max_tokens": 1_000_000, "turn_tokens": 1_000_000}
    admission = Admission(**{**defaults, **limits})
    admission.rate = TokenRate(tokens_per_second)
    return admission


def never(_: Computation) -> Steps[RequestResult]:
    raise AssertionError("nothing is computed here")


def enter(
    admission: Admission, tokens: int, deadline: float = DEADLINE, *, arrived: float = 0.0
) -> AdmittedRequest:
    """Queue a request of `tokens` at 0 s; it is returned if it is not refused."""
    request = AdmittedRequest(arrived, deadline - arrived)
    request.computation = Computation((), TokenCost(tokens), never)
    admission.enter(request, 0.0)
    return request


def tell(request: AdmittedRequest, *, tokens: int, left: int) -> None:
    """The engine has begun `request`."""
    assert request.computation is not None
    cost = request.computation.cost
    cost.find_cached(cost.most - tokens)
    cost.compute(tokens - left)
    request.computation.started = True


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
        enter(admission, 1000)  # 10 s each
    with pytest.raises(OverloadedError, match=r"1000 tokens behind 2000 .* 5\.0 s after") as refused:
        enter(admission, 1000)
    assert refused.value.retry_after_seconds == pytest.approx(5.0)
    enter(admission, 500)  # a smaller one still fits
    assert admission.backlog_seconds() == pytest.approx(25.0)


def test_the_running_request_counts_for_what_is_left_of_it() -> None:
    admission = make()
    request = enter(admission, 1000)
    assert admission.queued == 1
    tell(request, tokens=1000, left=600)
    assert admission.queued == 0
    assert admission.backlog_seconds() == pytest.approx(6.0)
    tell(request, tokens=1000, left=-5)  # an estimate that was too low
    assert admission.backlog_seconds() == 0.0
    admission.leave(request)
    assert admission.backlog_seconds() == 0.0


def test_what_leaves_the_queue_makes_room() -> None:
    admission = make()
    requests = [enter(admission, 1000) for _ in range(2)]
    admission.leave(requests[0])
    enter(admission, 1000)
    assert admission.queued == 2


def test_a_short_one_waits_for_turns_of_the_long_ones_and_not_for_all_of_them() -> None:
    """At 100 tokens a second; the long ones are due late, the short ones within 5 s."""
    admission = make(turn_tokens=100)
    for _ in range(2):
        enter(admission, 2000, 120.0)
    enter(admission, 50, 5.0)  # behind one turn of a long one
    enter(admission, 100, 5.0)  # behind two, and the other
    enter(admission, 50, 5.0)  # behind three and 150 tokens
    with pytest.raises(OverloadedError, match=r"50 tokens behind 4200 .* 0\.5 s after"):
        enter(admission, 50, 5.0)


def test_short_ones_alone_wait_for_each_other_only() -> None:
    admission = make(turn_tokens=100)
    for _ in range(5):
        enter(admission, 100, 5.0)
    with pytest.raises(OverloadedError, match=r"1\.0 s after"):
        enter(admission, 100, 5.0)


def test_short_ones_must_not_cost_a_long_one_its_deadline() -> None:
    admission = make(turn_tokens=100)
    enter(admission, 2000, 22.0)
    for _ in range(2):
        enter(admission, 100, 60.0)
    with pytest.raises(OverloadedError, match="100 tokens more would keep an earlier request from its dead"):
        enter(admission, 100, 60.0)
    enter(admission, 400, 60.0)  # a long one waits behind it


def test_the_queue_is_bounded_in_tokens_but_never_refuses_the_only_request() -> None:
    admission = make(tokens_per_second=1e6, max_tokens=1500)
    enter(admission, 2000)
    with pytest.raises(OverloadedError, match=r"2000 tokens are queued, 10 more are over the limit of 1500"):
        enter(admission, 10)


def test_what_no_idle_server_answers_in_time_is_not_called_a_matter_of_time() -> None:
    admission = make()
    with pytest.raises(OverloadedError):  # twice the rate would do, and the rate is an estimate
        enter(admission, 1500, deadline=10.0)
    with pytest.raises(PromptTooLongError, match=r"2100 tokens take about 21 s here, the deadline"):
        enter(admission, 2100, deadline=10.0)
    enter(admission, 900, deadline=10.0)
    with pytest.raises(OverloadedError):  # behind another it may be the other's fault
        enter(admission, 2100, deadline=10.0)


@pytest.mark.parametrize("spent", [44.0, 50.0, 54.9])
def test_what_upload_and_check_took_makes_no_prompt_too_long(spent: float) -> None:
    """Of 55 s; 12 s of computing would fit as soon as the upload is quicker or the checkers are free."""
    for tokens in (1_200, 10_900):
        with pytest.raises(OverloadedError) as refused:
            enter(make(), tokens, deadline=55.0 - spent, arrived=-spent)
        assert 0 < refused.value.retry_after_seconds <= 55
    with pytest.raises(PromptTooLongError, match=r"11100 tokens take about 111 s here, the deadline is 55 s"):
        enter(make(), 11_100, deadline=55.0 - spent, arrived=-spent)


def test_places_are_bounded() -> None:
    admission = make(max_requests=2)
    admission.take_place()
    admission.take_place()
    enter(admission, 1000)
    with pytest.raises(OverloadedError) as refused:
        admission.take_place()
    assert refused.value.retry_after_seconds == pytest.approx(10.0)
    admission.free_place()
    admission.take_place()


def test_one_slow_spell_does_not_refuse_an_idle_machines_requests_for_ever() -> None:
    admission = make()
    for _ in range(50):
        admission.rate.learn(1000, 1000)
    enter(admission, 2000)
    with pytest.raises(OverloadedError):
        enter(admission, 100)


def test_what_no_spell_was_fast_enough_for_is_refused_even_alone() -> None:
    with pytest.raises(OverloadedError) as refused:
        enter(make(), 2600)
    assert refused.value.retry_after_seconds > 0


def test_a_request_is_short_where_the_engine_has_most_of_it_in_its_cache() -> None:
    admission = make(turn_tokens=100)
    enter(admission, 500, 6.0)
    cached = enter(admission, 1000, 120.0)
    enter(admission, 40, 120.0)
    tell(cached, tokens=50, left=50)  # it goes in between now, and takes the first one's time
    with pytest.raises(OverloadedError, match="an earlier request"):
        enter(admission, 20, 120.0)
