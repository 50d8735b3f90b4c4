"""The prefix cache behind the engine's door: what it saves, and that it never changes a bit of an answer."""

import itertools
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from semif_adapter.contract.errors import AbandonedError, EngineError
from semif_adapter.contract.wire import Layout, Readout, Result
from semif_adapter.engine import setup
from semif_adapter.engine.engine import Engine
from semif_adapter.llama.context import BATCH_TOKENS, LEAST_JOINED, SHORT_TOKENS
from semif_adapter.machine import mode_memory
from tests.support.models.engines import fresh_engines
from tests.support.models.interleaved import Interleaved, Request, ask, events, request_kinds

CONTEXT = 1280
SUFFIX = 13
"""Tokens that end the last segment: the ChatML template hands over to the assistant, a byte a token."""
SYSTEM: dict[Readout, int] = {"letters": 58, "text": 39}
"""Tokens of the first segment."""
SPOILED = "~"

Fresh = Callable[..., AbstractContextManager[Engine]]
Alone = Callable[[Layout, str, int], tuple[float, ...]]

_PASS_ENDS = (-2, -1, LEAST_JOINED - 3, LEAST_JOINED - 2, SHORT_TOKENS - 3, SHORT_TOKENS - 2, SHORT_TOKENS)
STATES = ("", "on", "The lamp. " * 12, *("x" * (BATCH_TOKENS + more) for more in _PASS_ENDS))
KINDS = list(itertools.product(("qwen3", "gemma3", "qwen35"), ("letters", "text")))


def computed(result: Result) -> int:
    return result.input_tokens - result.cached_tokens


def last_segment(result: Result, layout: Layout, state: str) -> int:
    """How many tokens come behind the prefix that is kept; two line feeds end a state that comes first."""
    if layout == "schema-first":
        return len(state) + SUFFIX
    return result.input_tokens - SYSTEM[result.readout] - len(state + "\n\n")


@pytest.fixture(params=KINDS, ids="-".join, scope="module")
def kind(request: pytest.FixtureRequest) -> tuple[str, Readout]:
    pair: tuple[str, Readout] = request.param
    return pair


@pytest.fixture(scope="module")
def fresh(kind: tuple[str, Readout], tiny_gguf: Callable[..., Path], library_dir: Path) -> Fresh:
    """Opens an engine that nothing was asked yet, closed at the end of its block."""
    architecture, readout = kind
    path = tiny_gguf(architecture=architecture, spoiled=SPOILED)
    return fresh_engines(path, library_dir, readout=readout, context_tokens=CONTEXT, streams=2)


@pytest.fixture(scope="module")
def alone(fresh: Fresh) -> Alone:
    """What a fresh engine answers to one question, asked alone."""

    @cache
    def logits(layout: Layout, state: str, number: int) -> tuple[float, ...]:
        with fresh() as engine:
            return engine.score([ask(state, number)], layout)[0][0].option_logits

    return logits


@given(
    schedule=st.lists(request_kinds((*STATES, SPOILED), 3), min_size=1, max_size=8), streams=st.integers(2, 4)
)
@settings(max_examples=4, deadline=None, database=None)
def test_an_answer_is_the_same_to_the_bit_after_whatever_was_asked_before(
    fresh: Fresh, alone: Alone, schedule: list[Request], streams: int
) -> None:
    with fresh(streams=streams) as engine:
        spoiled = False
        for layout, state, numbers in schedule:
            questions = [ask(state, number) for number in numbers]
            if state == SPOILED:
                spoiled = True
                with suppress(EngineError):  # the sliding window may have passed the NaN
                    engine.score(questions, layout)
                continue
            bound = engine.prepare(questions, layout).cost.expected
            results, timing = engine.score(questions, layout)
            for number, result in zip(numbers, results, strict=True):
                assert result.option_logits == alone(layout, state, number)
                assert SUFFIX <= computed(result) <= result.input_tokens
            assert 0 <= timing.prefix_cached_tokens <= timing.prefix_tokens
            # Who meets what a NaN left behind a sliding window is run once more, on an emptied memory.
            assert spoiled or sum(map(computed, results)) <= bound
            [again], _ = engine.score(questions[-1:], layout)
            assert again.option_logits == results[-1].option_logits
            assert computed(again) == last_segment(again, layout, state)


@given(
    kinds=st.lists(request_kinds((*STATES, SPOILED), 3), min_size=1, max_size=3),
    schedule=st.lists(events, min_size=10, max_size=60),
    streams=st.integers(2, 8),
)
@settings(max_examples=8, deadline=None, database=None)
def test_an_answer_is_the_same_to_the_bit_whoever_else_is_in_the_middle_of_his(
    fresh: Fresh, alone: Alone, kinds: list[Request], schedule: list[tuple[Any, int]], streams: int
) -> None:
    """Also after another one's fault, which makes all that were under way begin anew."""
    with fresh(streams=streams) as engine:
        interleaved = Interleaved(engine, kinds)
        for act, place in schedule:
            act(interleaved, place)
        interleaved.finish()
        for computation, (layout, state, numbers) in interleaved.ended:
            if computation.result is None:
                assert state == SPOILED or isinstance(computation.failure, AbandonedError)
            elif state != SPOILED:
                results, timing = computation.result
                for number, result in zip(numbers, results, strict=True):
                    assert result.option_logits == alone(layout, state, number)
                    assert 0 <= result.cached_tokens <= result.input_tokens - SUFFIX
                assert 0 <= timing.prefix_cached_tokens <= timing.prefix_tokens


def score(engine: Engine, layout: Layout, state: str, number: int = 0) -> Result:
    return engine.score([ask(state, number)], layout)[0][0]


def test_what_was_there_before_is_not_computed_again(fresh: Fresh, kind: tuple[str, Readout]) -> None:
    """The models have one token per byte."""
    _, readout = kind
    system = SYSTEM[readout]
    with fresh() as engine:
        assert score(engine, "schema-first", "The lamp is on.", 1).cached_tokens == system
        for _ in range(2):
            other = score(engine, "schema-first", "It is off.", 1)
            assert computed(other) == last_segment(other, "schema-first", "It is off.")

        first = score(engine, "state-first", STATES[2])
        assert first.cached_tokens == system
        for number in (0, 1, 0):
            other = score(engine, "state-first", STATES[2], number)
            assert computed(other) == last_segment(other, "state-first", STATES[2])


def test_questions_over_one_state_compute_it_once_and_not_again(fresh: Fresh) -> None:
    with fresh() as engine:
        questions = [ask(STATES[2], number) for number in range(3)]
        results, timing = engine.score(questions, "state-first")
        assert [result.cached_tokens for result in results[1:]] == [timing.prefix_tokens] * 2
        again, repeated = engine.score(questions, "state-first")
        assert repeated.prefix_cached_tokens == repeated.prefix_tokens == timing.prefix_tokens
        assert min(result.cached_tokens for result in again) >= timing.prefix_tokens


def test_the_prefix_used_least_recently_makes_room(
    monkeypatch: pytest.MonkeyPatch, fresh: Fresh, kind: tuple[str, Readout]
) -> None:
    """Two streams hold two prefixes, where no more are saved. A sliding window's never are."""
    architecture, readout = kind
    monkeypatch.setattr(mode_memory, "MAX_STATE_BYTES", 1)
    with fresh(streams=2) as engine:
        for number in (0, 1, 0, 2):
            score(engine, "schema-first", "on", number)
        kept = score(engine, "schema-first", "off", 0)
        assert computed(kept) == len("off") + SUFFIX
        gone = score(engine, "schema-first", "off", 1)
        hybrid = architecture == "qwen35"
        assert gone.cached_tokens == (gone.input_tokens - len("off") - SUFFIX if hybrid else SYSTEM[readout])


@pytest.mark.parametrize("layout", ["schema-first", "state-first"])
def test_more_beginnings_than_streams_stay_computed(
    fresh: Fresh, kind: tuple[str, Readout], layout: Layout, alone: Alone
) -> None:
    """Each is saved when another takes its stream, and its bits are those of one computed for the request.

    A sliding window's state is not whole: such a prefix is computed again.
    """
    architecture, readout = kind
    states, numbers = (("on",), (0, 1, 2)) if layout == "schema-first" else (STATES[-4:], (0,))
    with fresh(streams=2) as engine:
        rounds = [[score(engine, layout, s, n) for s in states for n in numbers] for _ in range(3)]
    for again in rounds[1:]:
        for result, (state, number) in zip(again, itertools.product(states, numbers), strict=True):
            behind = last_segment(result, layout, state)
            saved = architecture != "gemma3"
            assert result.cached_tokens == (result.input_tokens - behind if saved else SYSTEM[readout])
            assert result.option_logits == alone(layout, state, number)


def test_nothing_is_taken_from_the_cache_after_a_fault(fresh: Fresh, kind: tuple[str, Readout]) -> None:
    with fresh() as engine:
        before = score(engine, "schema-first", "on")
        with pytest.raises(EngineError):
            score(engine, "schema-first", f"on {SPOILED}")
        after = score(engine, "schema-first", "on")
        assert after.cached_tokens == 0
        assert after.option_logits == before.option_logits


def test_what_a_window_left_behind_fails_nobody_else(fresh: Fresh) -> None:
    """A NaN that the last rows no longer see stays in the stream, where the next one's long pass meets it."""
    innocent = [replace(ask("y" * length), text=f"Is it {length}?") for length in (60, 70, 90, 120)]
    with fresh(streams=2) as engine:
        expected = [engine.score([one], "schema-first")[0][0].option_logits for one in innocent]
    with fresh(streams=2) as engine:
        for place, (one, logits) in enumerate(zip(innocent, expected, strict=True)):
            if place % 2 == 0:  # each of the streams is the next one's once
                with suppress(EngineError):
                    engine.score([ask("x" * 140 + SPOILED + "x" * 100)], "state-first")
            assert engine.score([one], "schema-first")[0][0].option_logits == logits


def test_saved_states_are_bounded(
    monkeypatch: pytest.MonkeyPatch, tiny_gguf: Callable[..., Path], library_dir: Path
) -> None:
    """The oldest go first, and the prefix in use is not among them: each request still finds its state.

    Where no tail can be cut, the newest stays whatever it takes. A token of this model takes 256 bytes, and
    its recurrent state 6 kB.
    """
    fresh = fresh_engines(
        tiny_gguf(architecture="qwen35"), library_dir, readout="letters", context_tokens=CONTEXT
    )
    states = [letter * 300 for letter in "abcdef"]

    def cached(engine: Engine, state: str) -> tuple[bool, bool]:
        """Whether the state is there for the first of two questions about it, and for the second."""
        results, _ = engine.score([ask(state), ask(state, 1)], "state-first")
        first, second = (computed(one) == last_segment(one, "state-first", state) for one in results)
        return first, second

    for most, kept in ((1, 0), (250_000, 2)):
        monkeypatch.setattr(setup, "saved_bytes", lambda *_, most=most, **__: most)
        with fresh() as engine:
            assert [cached(engine, state) for state in states] == [(False, True)] * len(states)
            again = [cached(engine, state) for state in reversed(states)]
        assert again == [(True, True)] * max(1, kept) + [(False, True)] * (len(states) - max(1, kept))


def test_what_is_larger_than_all_saved_states_may_be_is_not_saved(
    monkeypatch: pytest.MonkeyPatch, tiny_gguf: Callable[..., Path], load_engine: Callable[..., Engine]
) -> None:
    """Nor does it make others go. A token of this model takes 512 bytes, the schemas 120, 230 and 620."""
    monkeypatch.setattr(setup, "saved_bytes", lambda *_, **__: 512 * 400)
    engine = load_engine(tiny_gguf(), readout="letters", context_tokens=CONTEXT, streams=2)
    for number in (2, 0, 1):
        score(engine, "schema-first", "on", number)
    assert score(engine, "schema-first", "on", 2).cached_tokens == SYSTEM["letters"]
    assert computed(score(engine, "schema-first", "on", 0)) == len("on") + SUFFIX
    for number in (1, 2, 1):
        score(engine, "schema-first", "on", number)
    assert computed(score(engine, "schema-first", "on", 0)) == len("on") + SUFFIX


def test_what_is_gone_back_to_does_not_make_room_for_what_was_there(
    monkeypatch: pytest.MonkeyPatch, tiny_gguf: Callable[..., Path], library_dir: Path
) -> None:
    """Only one of the schemas fits, of 102, 205 and 618 tokens, with what the stream held before it."""
    monkeypatch.setattr(setup, "saved_bytes", lambda *_, **__: 512 * 300)
    fresh = fresh_engines(tiny_gguf(), library_dir, readout="letters", context_tokens=CONTEXT, streams=2)
    with fresh() as engine:
        first = [score(engine, "schema-first", "on", number) for number in (2, 0, 1)]
        again = [score(engine, "schema-first", "on", number) for number in (2, 0, 1)]
    assert computed(again[1]) == len("on") + SUFFIX
    assert all(result.cached_tokens >= SYSTEM["letters"] for result in again)
    assert [one.option_logits for one in again] == [one.option_logits for one in first]
