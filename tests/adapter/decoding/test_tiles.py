"""Short passes padded to whole tiles: the answer is the prompt's alone, and the padding leaves no trace."""

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from semif_adapter.decoding.decoder import AskedPrompt
from semif_adapter.decoding.invariant_decoder import InvariantDecoder
from semif_adapter.decoding.steps import complete
from semif_adapter.decoding.streams import Stream
from semif_adapter.decoding.tiles import FAST_WEIGHT_COST, TILE, Tiles, choose_tiles
from semif_adapter.llama.context import Context, Rows
from semif_adapter.llama.libllama import Library
from semif_adapter.llama.model import Model, Tokens
from semif_adapter.machine.memory import MAX_STATE_BYTES

CONTEXT = 512
SMOL = Tiles(query=30 * 9 * 64, weights=30 * 576 * (2 * 64 * 12 + 3 * 1536), cells=4096)
SMOL_Q4_0 = replace(SMOL, weights=FAST_WEIGHT_COST * SMOL.weights)
QWEN3_4B = Tiles(
    query=36 * 32 * 128, weights=FAST_WEIGHT_COST * 36 * 2560 * (2 * 128 * 40 + 3 * 9728), cells=4096
)


def some_tokens(count: int, seed: int = 0) -> Tokens:
    return np.random.default_rng((count, seed)).integers(32, 126, count).astype(np.int32)


SAMPLE = some_tokens(50)


@pytest.fixture(scope="module")
def model(library: Library, tiny_gguf: Callable[..., Path]) -> Iterator[Model]:
    with closing(Model(library, tiny_gguf(), 0)) as model:
        yield model


@pytest.fixture
def context(model: Model) -> Iterator[Context]:
    with closing(Context(model, streams=2, context_tokens=CONTEXT, threads=1)) as context:
        yield context


def opened(model: Model) -> InvariantDecoder:
    return InvariantDecoder(
        model, streams=2, context_tokens=CONTEXT, threads=1, sample=SAMPLE, saved_bytes=MAX_STATE_BYTES
    )


def ask(decoder: InvariantDecoder, state: Tokens, suffix: Tokens) -> tuple[Rows, int]:
    answer = complete(decoder.decode(AskedPrompt((SAMPLE, state, suffix))), decoder.context.run)
    return answer.rows, answer.computed


def extend(stream: Stream, tokens: Tokens, wanted: int = 1) -> Rows:
    return complete(stream.extend(tokens, wanted), stream.context.run)


@pytest.mark.parametrize(
    ("tiles", "depth", "first"),
    [
        (SMOL, 0, None),
        (SMOL, 256, 54),
        (SMOL, 800, 42),
        (SMOL, 1800, 34),
        (SMOL_Q4_0, 0, 63),
        (SMOL_Q4_0, 110, 54),
        (SMOL_Q4_0, 300, 46),
        (SMOL_Q4_0, 800, 35),
        (SMOL_Q4_0, 1800, 28),
        (QWEN3_4B, 256, 58),
        (QWEN3_4B, 1800, 41),
    ],
)
def test_passes_are_padded_where_that_was_measured_to_pay(
    tiles: Tiles, depth: int, first: int | None
) -> None:
    padded = [count for count in range(1, 257) if tiles.padding(depth, count)]
    assert padded == ([] if first is None else list(range(first, TILE)))
    assert {count + tiles.padding(depth, count) for count in padded} <= {TILE}


@pytest.mark.parametrize(
    ("file_type", "is_fast"), [(2, True), (15, True), (3, False), (17, False), (None, False)]
)
def test_weights_of_fast_types_are_padded_earlier(
    library: Library, tiny_gguf: Callable[..., Path], file_type: int | None, *, is_fast: bool
) -> None:
    def first_padded(path: Path) -> int:
        with (
            closing(Model(library, path, 0)) as model,
            closing(Context(model, streams=1, context_tokens=CONTEXT, threads=1)) as context,
        ):
            tiles = choose_tiles(context, model, SAMPLE, reads_head=False)
            assert tiles is not None
            return next(count for count in range(1, TILE) if tiles.padding(100, count))

    first = first_padded(tiny_gguf(metadata=(("general.file_type", file_type),)))
    assert (first < first_padded(tiny_gguf())) == is_fast


def test_a_short_pass_behind_a_long_prompt_is_computed_as_a_whole_tile(
    model: Model, context: Context
) -> None:
    tiles = choose_tiles(context, model, SAMPLE, reads_head=False)
    assert tiles is not None
    state, suffix = some_tokens(200), some_tokens(60)
    padded, plain = (
        Stream(context, index, can_cut=True, tiles=rule) for index, rule in enumerate((tiles, None))
    )
    for stream in (padded, plain):
        extend(stream, state)
    mark = plain.mark()
    whole = extend(plain, np.resize(suffix, TILE), TILE)[: len(suffix)]
    plain.rewind(mark)

    rows, by_row = (extend(stream, suffix, len(suffix)) for stream in (padded, plain))

    np.testing.assert_array_equal(rows, whole)
    assert not np.array_equal(rows, by_row)
    np.testing.assert_allclose(rows, by_row, atol=1e-2)
    assert padded.length == len(state) + len(suffix)
    assert padded.state_bytes == plain.state_bytes


def test_a_state_saved_behind_a_padded_pass_goes_on_with_the_same_bits(
    model: Model, context: Context
) -> None:
    tiles = choose_tiles(context, model, SAMPLE, reads_head=False)
    first, second = (Stream(context, index, can_cut=True, tiles=tiles) for index in range(2))
    extend(first, some_tokens(200))
    extend(first, some_tokens(60))
    saved = first.save()
    expected = extend(first, some_tokens(61))

    extend(second, some_tokens(33, seed=1))
    second.rewind(saved)

    np.testing.assert_array_equal(extend(second, some_tokens(61)), expected)


def test_a_prompt_may_fill_its_context(model: Model) -> None:
    """The cells end where the context does: what is too close to its end is not padded."""
    with closing(opened(model)) as decoder:
        for left in (1, 40, 60, 63):
            state = some_tokens(CONTEXT - len(SAMPLE) - left)
            rows, computed = ask(decoder, state, some_tokens(left))
            assert np.isfinite(rows).all()
            assert computed in (CONTEXT, CONTEXT - len(SAMPLE))


lengths = st.sampled_from((1, 20, 40, 48, 52, 56, 60, 62, 63, 64, 65, 100, 150))


@given(schedule=st.lists(st.tuples(lengths, lengths), min_size=2, max_size=6))
@settings(max_examples=5, deadline=None, database=None)
def test_an_answer_is_its_prompts_alone_whatever_the_shapes_before(
    model: Model, schedule: list[tuple[int, int]]
) -> None:
    with closing(opened(model)) as decoder:
        assert decoder.invariant
        answers = [ask(decoder, some_tokens(state), some_tokens(suffix)) for state, suffix in schedule]
        for (rows, computed), (state, suffix) in zip(answers, schedule, strict=True):
            decoder.drop()
            alone, all_tokens = ask(decoder, some_tokens(state), some_tokens(suffix))
            np.testing.assert_array_equal(rows, alone)
            assert all_tokens == len(SAMPLE) + state + suffix
            assert suffix <= computed <= all_tokens


def test_a_sliding_window_stays_as_it_is(library: Library, tiny_gguf: Callable[..., Path]) -> None:
    with (
        closing(Model(library, tiny_gguf(architecture="gemma3"), 0)) as model,
        closing(Context(model, streams=1, context_tokens=CONTEXT, threads=1)) as context,
    ):
        assert choose_tiles(context, model, SAMPLE, reads_head=False) is None
