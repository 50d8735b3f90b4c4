"""Joined mode through the scheduler: the passes that a request takes are those that it fills."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from semif_adapter.contract.question import OptionText, Question
from semif_adapter.decoding.joined_decoder import PORTION_TOKENS
from semif_adapter.engine.engine import Engine
from semif_adapter.llama.context import BATCH_TOKENS, SHORT_TOKENS
from semif_adapter.machine.mode_memory import JOINED_BRANCHES

OPTIONS = tuple(OptionText(words, words, words) for words in ("yes", "no"))
AROUND = 26
"""Tokens of the template and the options around a question's text, a byte a token."""
texts = st.lists(st.integers(1, 400), min_size=2, max_size=JOINED_BRANCHES).filter(
    lambda lengths: sum(lengths) + AROUND * len(lengths) <= PORTION_TOKENS
)


@pytest.fixture(params=["qwen3", "qwen35"], scope="module")
def engine(
    request: pytest.FixtureRequest, tiny_gguf: Callable[..., Path], load_engine: Callable[..., Engine]
) -> Engine:
    path = tiny_gguf(architecture=request.param)
    return load_engine(path, readout="letters", context_tokens=1280, mode="joined")


def passes_of(engine: Engine, lengths: list[int]) -> tuple[int, int]:
    """How many passes questions of these lengths take behind a state that is there, and their tokens."""
    questions = [
        Question(str(place), "The lamp is on.", "x" * length, OPTIONS, "decision")
        for place, length in enumerate(lengths)
    ]
    results, timing = engine.score(questions, "state-first")
    computation = engine.prepare(questions, "state-first")
    engine.begin(computation)
    passes = 0
    while not computation.ended:
        engine.scheduler.advance()
        passes += 1
    assert computation.result is not None
    assert [one.option_logits for one in computation.result.results] == [one.option_logits for one in results]
    return passes, sum(result.input_tokens - timing.prefix_tokens for result in results)


@given(lengths=texts)
@settings(max_examples=15, deadline=None, database=None)
def test_a_portion_takes_as_few_passes_as_its_tokens_fill(engine: Engine, lengths: list[int]) -> None:
    passes, tokens = passes_of(engine, lengths)
    assert passes == -(-tokens // (BATCH_TOKENS + SHORT_TOKENS))
