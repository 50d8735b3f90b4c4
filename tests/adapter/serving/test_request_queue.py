"""What the queue learns from the requests that end, with times of the test's own."""

import pytest

from semif_adapter.contract.errors import OverloadedError
from semif_adapter.contract.settings import Settings
from semif_adapter.contract.wire import SharedTiming
from semif_adapter.decoding.steps import Steps
from semif_adapter.engine.computation import Computation, RequestResult, TokenCost
from semif_adapter.serving.admission import TokenRate
from semif_adapter.serving.admitted_request import AdmittedRequest
from semif_adapter.serving.request_queue import RequestQueue
from tests.support.models.scripted_engine import ScriptedEngine

TIMING = SharedTiming(
    batch_size=1, prefix_tokens=0, prefill_seconds=0, suffix_forward_seconds=0, total_seconds=0
)


def never(_: Computation) -> Steps[RequestResult]:
    raise AssertionError("nothing is computed here")


@pytest.mark.parametrize(("slowest", "limit"), [(0.0, 81.92), (5.0, 81.92), (50.0, 200.0)])
def test_a_pass_deep_in_a_long_prompt_is_no_stall(slowest: float, limit: float) -> None:
    """Passes grow with the depth: the token rate, a mean, says 20.48 s for the largest."""
    engine = ScriptedEngine(tokens_per_second=100.0)
    engine.slowest_step_seconds = slowest
    queue = RequestQueue(lambda: pytest.fail("loads nothing"), Settings())
    queue.engine_loaded(engine)
    assert queue.stall_seconds == pytest.approx(limit)


def ended(cost: TokenCost, tokens: int, seconds: float) -> Computation:
    """A request for which `tokens` were computed, and the others cached."""
    computation = Computation((), cost, never)
    cost.compute(tokens)
    computation.busy_seconds = seconds
    computation.result = RequestResult([], TIMING)
    return computation


@pytest.mark.parametrize("cached", [0, 1, 500, 990])
def test_what_was_cached_makes_no_machine_faster(cached: int) -> None:
    """It computes 100 tokens a second: of long requests that begin with nothing cached two fit into 25 s."""
    queue = RequestQueue(lambda: pytest.fail("loads nothing"), Settings())
    queue.admission.rate = TokenRate(100)
    for _ in range(9):
        queue.engine_ended(ended(TokenCost(1000, cached), 1000 - cached, (1000 - cached) / 100), None)
    admitted = 0
    for _ in range(12):
        request = AdmittedRequest(0.0, 25.0)
        request.computation = Computation((), TokenCost(1000), never)
        try:
            queue.admission.enter(request, 0.0)
        except OverloadedError:
            continue
        admitted += 1
    assert admitted == 2
    assert queue.admission.backlog_seconds() == pytest.approx(20)
