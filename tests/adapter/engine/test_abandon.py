"""Stopping the engine in the middle of its work, on real libllama; and that nothing is left of it."""

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from semif_adapter.contract.errors import AbandonedError, EngineError
from semif_adapter.contract.question import OptionText, Question
from semif_adapter.engine.computation import Computation
from semif_adapter.engine.engine import Engine
from tests.support.machine.waiting import eventually

CONTEXT = 4096


def question(state: str) -> Question:
    options = (OptionText("yes", "yes", "yes"), OptionText("no", "no", "no"))
    return Question("q", state, "Is the lamp on?", options, "decision")


@pytest.mark.parametrize("architecture", ["qwen3", "qwen35"])
@pytest.mark.parametrize("readout", ["letters", "text"])
def test_abandoned_work_stops_and_leaves_nothing_behind(
    tiny_gguf: Callable[..., Path], load_engine: Callable[..., Engine], architecture: str, readout: str
) -> None:
    abandon_in_the_middle(
        load_engine(tiny_gguf(architecture=architecture), readout=readout, context_tokens=CONTEXT)
    )


@pytest.mark.parametrize("mode", ["invariant", "joined", "batched"])
@pytest.mark.parametrize("head", ["kev", "laya"])
def test_abandoned_passes_of_a_decision_head_leave_nothing_behind(
    kev_gguf: Path, laya_gguf: Path, load_engine: Callable[..., Engine], head: str, mode: str
) -> None:
    gguf = kev_gguf if head == "kev" else laya_gguf
    abandon_in_the_middle(load_engine(gguf, context_tokens=CONTEXT, mode=mode))


def abandon_in_the_middle(engine: Engine) -> None:
    """Stop a long pass, and compare what is answered before and after."""

    def logits() -> tuple[float, ...]:
        return engine.score([question("The lamp is on.")], "schema-first")[0][0].option_logits

    before = logits()
    computation = begin(engine, "x" * (CONTEXT - 1000))
    ended: list[Computation] = []
    thread = threading.Thread(target=lambda: ended.extend(until_one_ends(engine)))
    thread.start()
    eventually(lambda: computation.started, pause_seconds=0)
    engine.scheduler.abandon(computation)
    thread.join(30)

    assert ended == [computation]
    assert isinstance(computation.failure, AbandonedError)
    assert computation.cost.spent < CONTEXT - 1000
    assert engine.slowest_step_seconds > 0
    assert logits() == before


def begin(engine: Engine, state: str) -> Computation:
    computation = engine.prepare([question(state)], "schema-first")
    engine.begin(computation)
    return computation


def until_one_ends(engine: Engine) -> list[Computation]:
    return eventually(engine.scheduler.advance, pause_seconds=0)


def test_what_is_abandoned_at_rest_is_never_run(
    tiny_gguf: Callable[..., Path], load_engine: Callable[..., Engine]
) -> None:
    engine = load_engine(tiny_gguf(), context_tokens=CONTEXT)
    gone, other = (begin(engine, "on") for _ in range(2))
    engine.scheduler.abandon(gone)

    assert until_one_ends(engine) == [gone]
    assert isinstance(gone.failure, AbandonedError)
    assert not gone.started
    assert until_one_ends(engine) == [other]
    assert other.result is not None


def test_what_a_request_costs_is_known_before_it_runs(
    tiny_gguf: Callable[..., Path], load_engine: Callable[..., Engine]
) -> None:
    engine = load_engine(tiny_gguf(), readout="letters", context_tokens=CONTEXT)
    one, other = question("The lamp is on."), question("The lamp is on.")
    results, timing = engine.score([one], "schema-first")
    assert engine.prepare([one], "schema-first").cost.most == results[0].input_tokens
    results, timing = engine.score([one, other], "state-first")
    assert (
        engine.prepare([one, other], "state-first").cost.most
        == sum(result.input_tokens for result in results) - timing.prefix_tokens
    )


@pytest.mark.parametrize("mode", ["invariant", "joined", "batched"])
@pytest.mark.parametrize("architecture", ["qwen3", "qwen35"])
def test_what_is_cached_is_not_counted_until_a_fault_forgets_it(
    tiny_gguf: Callable[..., Path], load_engine: Callable[..., Engine], architecture: str, mode: str
) -> None:
    path = tiny_gguf(architecture=architecture, spoiled="~")
    engine = load_engine(path, readout="letters", context_tokens=CONTEXT, mode=mode)
    engine.score([question("The lamp is on.")], "schema-first")
    cost = engine.prepare([question("It is off.")], "schema-first").cost
    assert len("It is off.") < cost.expected < 40 < cost.most

    computation, spoiled = begin(engine, "It is off."), begin(engine, "~" * 30)
    assert computation.cost.expected == cost.expected
    while not spoiled.ended:
        engine.scheduler.step([spoiled])
    assert isinstance(spoiled.failure, EngineError)
    engine.scheduler.step([spoiled])
    assert not spoiled.waiting, "who has ended is not begun again"
    assert engine.scheduler.collect() == [spoiled]
    assert computation.cost.expected == cost.most
    while not computation.ended:
        engine.scheduler.advance()
    assert computation.cost.spent == cost.most


def test_what_the_options_get_without_a_state_counts_until_it_is_known(
    tiny_gguf: Callable[..., Path], load_engine: Callable[..., Engine]
) -> None:
    engine = load_engine(tiny_gguf(), readout="text", context_tokens=2048)
    asked = [question("The lamp is on.")]
    before = engine.prepare(asked, "schema-first").cost.most
    [result], _ = engine.score(asked, "schema-first")
    after = engine.prepare(asked, "schema-first").cost.most

    # A byte a token: of "yes" and "no" all but the last ones are decoded, with the state and without.
    assert after == result.input_tokens + 3
    assert before == 2 * after - len("The lamp is on.")
