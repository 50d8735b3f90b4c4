"""Batched mode behind the engine's door: the same answers but for the last bits, in fewer forward passes."""

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from semif_adapter.contract.errors import AbandonedError, EngineError
from semif_adapter.contract.question import OptionText, Question
from semif_adapter.contract.wire import Layout
from semif_adapter.decoding import batched_decoder
from semif_adapter.engine.computation import Computation
from semif_adapter.engine.engine import Engine
from tests.support.models.leaving import in_the_middle_of_a_pass

CONTEXT = 512
TOLERANCE = 0.05
"""Of logits that spread over some units; a wrong prefix or position is off by more than ten times as much."""
SPOILED = "~"
KINDS = list(itertools.product(("qwen3", "gemma3", "qwen35"), ("letters", "text")))
OPTIONS = (("yes", "no", "yes and no"), ("hall", "kitchen"), ("me", "a guest", "the cat", "a" * 70))
REQUESTS: list[tuple[str, tuple[int, ...], Layout]] = [
    ("The lamp is on.", (0, 1, 2), "state-first"),
    ("The lamp. " * 20, (0,), "schema-first"),
    ("It was the cat. " * 14, (1, 2), "state-first"),
    ("The lamp is on.", (2, 2), "state-first"),
    ("It is off.", (0,), "schema-first"),
    ("It is on.", (0,), "schema-first"),
    ("It was switched off. " * 10, (2, 1, 0), "state-first"),
]

Load = Callable[..., Engine]


@pytest.fixture(params=KINDS, ids="-".join)
def load(
    request: pytest.FixtureRequest, tiny_gguf: Callable[..., Path], load_engine: Callable[..., Engine]
) -> Iterator[Load]:
    architecture, readout = request.param

    def load(**settings: Any) -> Engine:
        path = tiny_gguf(architecture=architecture, spoiled=SPOILED)
        return load_engine(path, readout=readout, context_tokens=CONTEXT, **settings)

    return load


def ask(state: str, number: int) -> Question:
    options = tuple(OptionText(words, words, words) for words in OPTIONS[number])
    return Question(str(number), state, f"Question {number}? " * (number + 1), options, "decision")


def begin(engine: Engine, state: str, numbers: tuple[int, ...], layout: Layout) -> Computation:
    computation = engine.prepare([ask(state, number) for number in numbers], layout)
    engine.begin(computation)
    return computation


def passes_until_ended(engine: Engine, computations: list[Computation]) -> int:
    count = 0
    while not all(computation.ended for computation in computations):
        engine.scheduler.advance()
        count += 1
    return count


def logits(computation: Computation) -> list[tuple[float, ...]]:
    assert computation.result is not None, computation.failure
    return [result.option_logits for result in computation.result[0]]


def alone(load: Load, state: str, numbers: tuple[int, ...], layout: Layout) -> list[Any]:
    results, _ = load(mode="invariant").score([ask(state, number) for number in numbers], layout)
    return [pytest.approx(result.option_logits, abs=TOLERANCE) for result in results]


def test_requests_share_passes_and_get_what_each_gets_alone(load: Load) -> None:
    engine, invariant = load(mode="batched"), load(mode="invariant")
    computations = [begin(engine, *request) for request in REQUESTS]
    one_by_one = [begin(invariant, *request) for request in REQUESTS]

    assert 2 * passes_until_ended(engine, computations) < passes_until_ended(invariant, one_by_one)

    for computation, request in zip(computations, REQUESTS, strict=True):
        assert logits(computation) == alone(load, *request)
    assert (engine.info.mode, engine.info.invariant) == ("batched", False)
    assert (invariant.info.mode, invariant.info.invariant) == ("invariant", True)


def test_what_is_there_is_not_computed_again(load: Load) -> None:
    engine = load(mode="batched", streams=4)
    first, second = (begin(engine, "It is quite new. ", (0, 1), "state-first") for _ in range(2))
    passes_until_ended(engine, [first, second])

    assert first.result is not None
    assert second.result is not None
    (results, timing), (again, repeated) = first.result, second.result
    assert timing.prefix_cached_tokens < repeated.prefix_cached_tokens == repeated.prefix_tokens
    assert [result.cached_tokens for result in again] == [repeated.prefix_tokens] * 2
    assert results[1].cached_tokens == timing.prefix_tokens


def test_who_finds_no_room_waits_and_nothing_is_lost(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    """Room for two long prompts, twenty sequences, 64 rows; requests leave in the middle, one is poison."""
    monkeypatch.setattr(batched_decoder, "SEQUENCES", 20)
    monkeypatch.setattr(batched_decoder, "ROWS_KEPT", batched_decoder.ROWS_AT_ONCE)
    engine = load(mode="batched", streams=2, turn_tokens=200)
    for turn in range(3):
        computations = [begin(engine, *request) for request in REQUESTS]
        poison = begin(engine, SPOILED, (0, 1), "state-first")
        for _ in range(1 + 2 * turn):
            engine.scheduler.advance()
        gone = computations[turn]
        engine.scheduler.abandon(gone)
        passes_until_ended(engine, [*computations, poison])

        assert gone.result is not None or isinstance(gone.failure, AbandonedError)
        # The sliding window may have passed the NaN.
        assert isinstance(poison.failure, EngineError) or engine.info.name == "tiny-gemma3"
        for computation, request in zip(computations, REQUESTS, strict=True):
            if computation is not gone:
                assert logits(computation) == alone(load, *request)


def test_255_options_of_several_words(tiny_gguf: Callable[..., Path], load_engine: Load) -> None:
    """More of them than sequences and rows at once."""
    options = tuple(OptionText(str(n), f"option {n}", f"option {n}") for n in range(255))
    question = Question("q", "s", "q", options, "decision")
    path = tiny_gguf()
    [result], [expected] = (
        load_engine(path, readout="text", mode=mode).score([question], "state-first")[0]
        for mode in ("batched", "invariant")
    )
    assert result.option_logits == pytest.approx(expected.option_logits, abs=TOLERANCE)


def test_on_a_cpu_the_same_bits_are_the_default(tiny_gguf: Callable[..., Path], load_engine: Load) -> None:
    assert load_engine(tiny_gguf()).info.mode == "invariant"


def test_a_pass_of_several_sequences_is_not_left_in_its_middle(
    tiny_gguf: Callable[..., Path], load_engine: Load, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For one, llama.cpp moves the recurrent states of other prefixes about: half of that mixes them up."""
    leave = in_the_middle_of_a_pass(monkeypatch)
    path = tiny_gguf(architecture="qwen35")
    engine = load_engine(path, mode="batched", readout="letters", context_tokens=CONTEXT, threads=1)
    request: tuple[str, tuple[int, ...], Layout] = ("It is on. ", (0, 1, 2), "state-first")
    stays = begin(engine, *request)
    passes_until_ended(engine, [stays])
    leaves = begin(engine, "It is off. ", (0, 1, 2), "state-first")
    while len(leaves.waiting) < 3:
        engine.scheduler.advance()
    leave.append(lambda: engine.scheduler.abandon(leaves))
    passes_until_ended(engine, [leaves])

    assert not leave
    assert leaves.result is not None
    again = begin(engine, *request)
    passes_until_ended(engine, [again])
    assert logits(again) == [pytest.approx(values, abs=0.001) for values in logits(stays)]
