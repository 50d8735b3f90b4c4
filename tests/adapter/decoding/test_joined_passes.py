"""The passes of joined mode: as few as a request fills, and the right bits whatever their shapes."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from semif_adapter.contract.question import OptionText, Question
from semif_adapter.decoding.decoder import AskedPrompt, DecodedPrompt
from semif_adapter.decoding.invariant_decoder import InvariantDecoder
from semif_adapter.decoding.joined_decoder import PORTION_TOKENS, JoinedDecoder
from semif_adapter.decoding.steps import complete
from semif_adapter.engine.engine import Engine
from semif_adapter.llama.context import BATCH_TOKENS, SHORT_TOKENS, Rows
from semif_adapter.llama.libllama import Library
from semif_adapter.llama.model import Model, Tokens
from semif_adapter.machine.memory import MAX_STATE_BYTES
from semif_adapter.machine.mode_memory import JOINED_BRANCHES

CONTEXT = 1280
TOLERANCE = 0.05
"""Of logits that spread over some units; a wrong prefix or position is off by more than ten times as much."""
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
    return load_engine(path, readout="letters", context_tokens=CONTEXT, mode="joined")


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


SAMPLE = np.arange(40, 90, dtype=np.int32)
lengths = st.lists(st.sampled_from((1, 7, 30, 33, 63, 64, 65, 150, 256, 257, 700)), min_size=1, max_size=20)


def rows_of(_place: int, decoded: DecodedPrompt) -> Rows:
    return decoded.rows


@pytest.mark.parametrize("architecture", ["qwen3", "qwen35"])
@given(schedule=st.lists(st.tuples(st.sampled_from((20, 300)), lengths), min_size=2, max_size=3))
@settings(
    max_examples=4, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], database=None
)
def test_whatever_shapes_of_passes_the_prompts_make(
    library: Library,
    tiny_gguf: Callable[..., Path],
    architecture: str,
    schedule: list[tuple[int, list[int]]],
) -> None:
    """Prompts of all lengths, side by side or over several passes: the same bits, and the right ones."""
    random = np.random.default_rng(5)

    def tokens(count: int) -> Tokens:
        return random.integers(32, 126, count).astype(np.int32)

    requests = []
    for depth, counts in schedule:
        state = tokens(depth)
        requests.append([AskedPrompt((SAMPLE, state, tokens(count))) for count in counts])
    path = tiny_gguf(architecture=architecture)
    memory = {"context_tokens": CONTEXT, "threads": 1, "saved_bytes": MAX_STATE_BYTES}
    with (
        closing(Model(library, path, 0)) as model,
        closing(JoinedDecoder(model, sample=SAMPLE, **memory)) as decoder,
        closing(InvariantDecoder(model, sample=SAMPLE, streams=2, **memory)) as invariant,
    ):
        first = [complete(decoder.decode_all(asked, rows_of), decoder.context.run) for asked in requests]
        for asked, told in zip(requests, first, strict=True):
            again = complete(decoder.decode_all(asked, rows_of), decoder.context.run)
            apart = complete(invariant.decode_all(asked, rows_of), invariant.context.run)
            for one, other, alone in zip(told, again, apart, strict=True):
                np.testing.assert_array_equal(one, other)
                np.testing.assert_allclose(one, alone, atol=TOLERANCE)
