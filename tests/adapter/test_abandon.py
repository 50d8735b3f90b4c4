"""Stopping the engine in the middle of its work, on real libllama; and that nothing is left of it."""

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from semif_adapter.engine import Engine
from semif_adapter.errors import AbandonedError, AdapterError
from semif_adapter.question import OptionText, Question

CONTEXT = 4096


def question(state: str) -> Question:
    options = (OptionText("yes", "yes", "yes"), OptionText("no", "no", "no"))
    return Question("q", state, "Is the lamp on?", options, "decision")


@pytest.mark.parametrize("architecture", ["qwen3", "qwen35"])
@pytest.mark.parametrize("readout", ["letters", "text"])
def test_abandoned_work_stops_and_leaves_nothing_behind(
    tiny_gguf: Callable[..., Path], load_engine: Callable[..., Engine], architecture: str, readout: str
) -> None:
    engine = load_engine(tiny_gguf(architecture=architecture), readout=readout, context_tokens=CONTEXT)

    def logits() -> tuple[float, ...]:
        return engine.score([question("The lamp is on.")], "schema-first")[0][0].option_logits

    before = logits()
    began = threading.Event()
    ended_by: list[AdapterError] = []

    def work() -> None:
        try:
            while True:
                began.set()
                engine.score([question("x" * (CONTEXT - 1000))], "schema-first")
        except AdapterError as error:
            ended_by.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    assert began.wait(30)
    engine.abandon()
    thread.join(30)
    assert [type(error) for error in ended_by] == [AbandonedError]

    engine.resume()
    assert logits() == before


def test_an_abandoned_engine_refuses_until_it_is_resumed(
    tiny_gguf: Callable[..., Path], load_engine: Callable[..., Engine]
) -> None:
    engine = load_engine(tiny_gguf(), context_tokens=CONTEXT)
    engine.abandon()
    with pytest.raises(AbandonedError):
        engine.prove()
    engine.resume()
    moved_at = engine.moved_at
    engine.prove()
    assert engine.moved_at > moved_at


def test_what_a_request_costs_is_known_before_it_runs(
    tiny_gguf: Callable[..., Path], load_engine: Callable[..., Engine]
) -> None:
    engine = load_engine(tiny_gguf(), readout="letters", context_tokens=CONTEXT)
    one, other = question("The lamp is on."), question("The lamp is on.")
    results, timing = engine.score([one], "schema-first")
    assert engine.check([one], "schema-first") == results[0].input_tokens
    results, timing = engine.score([one, other], "state-first")
    assert (
        engine.check([one, other], "state-first")
        == sum(result.input_tokens for result in results) - timing.prefix_tokens
    )
