"""Joined mode behind the engine's door: an answer is a function of its request alone, to the bit."""

import itertools
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from semif_adapter.contract.errors import AbandonedError, EngineError
from semif_adapter.contract.question import OptionText, Question
from semif_adapter.contract.wire import Layout, Result
from semif_adapter.decoding.joined_decoder import BRANCHES
from semif_adapter.engine import setup
from semif_adapter.engine.engine import Engine
from semif_adapter.llama.context import BATCH_TOKENS, LEAST_JOINED, SHORT_TOKENS
from tests.support.models.engines import fresh_engines
from tests.support.models.interleaved import Interleaved, Request, ask, events, request_kinds
from tests.support.models.leaving import in_the_middle_of_a_pass

CONTEXT = 1280
SPOILED = "~"
KINDS = list(itertools.product(("qwen3", "gemma3", "qwen35"), ("letters", "text")))
STATES = (
    "on",
    "The lamp. " * 12,
    *("x" * (BATCH_TOKENS + more) for more in (-2, LEAST_JOINED, SHORT_TOKENS - 3, SHORT_TOKENS - 2, 280)),
)
TOLERANCE = 0.05
"""Of logits that spread over some units; a wrong prefix or position is off by more than ten times as much."""

Fresh = Callable[..., AbstractContextManager[Engine]]
Logits = list[tuple[float, ...]]


@pytest.fixture(params=KINDS, ids="-".join)
def fresh(request: pytest.FixtureRequest, tiny_gguf: Callable[..., Path], library_dir: Path) -> Fresh:
    """Opens an engine that nothing was asked yet, closed at the end of its block."""
    architecture, readout = request.param
    return opener(tiny_gguf(architecture=architecture, spoiled=SPOILED), library_dir, readout)


def opener(path: Path, library_dir: Path, readout: Any) -> Fresh:
    return fresh_engines(path, library_dir, readout=readout, context_tokens=CONTEXT, mode="joined")


def logits(results: list[Result]) -> Logits:
    return [result.option_logits for result in results]


def expected(fresh: Fresh) -> Callable[[Request], Logits]:
    """What a fresh engine answers to a request."""

    @cache
    def answers(request: Request) -> Logits:
        layout, state, numbers = request
        with fresh() as engine:
            return logits(engine.score([ask(state, number) for number in numbers], layout).results)

    return answers


@given(
    kinds=st.lists(request_kinds((*STATES, SPOILED), 4), min_size=1, max_size=3),
    schedule=st.lists(events, min_size=10, max_size=50),
)
@settings(
    max_examples=4, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], database=None
)
def test_an_answer_is_its_requests_alone_whoever_else_is_in_the_middle_of_his(
    fresh: Fresh, kinds: list[Request], schedule: list[tuple[Any, int]]
) -> None:
    """Warm and cold, in every order, after others left in the middle or failed."""
    answers = expected(fresh)
    with fresh() as engine:
        assert (engine.info.mode, engine.info.invariant) == ("joined", True)
        interleaved = Interleaved(engine, kinds)
        for act, place in schedule:
            act(interleaved, place)
        interleaved.finish()
        for computation, request in interleaved.ended:
            if computation.result is None:
                assert request[1] == SPOILED or isinstance(computation.failure, AbandonedError)
            elif request[1] != SPOILED:
                results, timing = computation.result
                assert logits(results) == answers(request)
                assert 0 <= timing.prefix_cached_tokens <= timing.prefix_tokens
                assert all(0 <= result.cached_tokens < result.input_tokens for result in results)


texts = st.sampled_from(
    ("Is it late?", "Was the parcel sent? " * 2, "Who wrote it?", "Is a refund due? " * 9)
)
small_requests = st.tuples(
    st.sampled_from(("My parcel is late.", "Where is it? " * 30)), st.lists(texts, min_size=2, max_size=4)
)


@pytest.mark.parametrize("readout", ["letters", "text"])
@given(schedule=st.lists(small_requests, min_size=2, max_size=4), data=st.data())
@settings(
    max_examples=2, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], database=None
)
def test_with_the_embedded_models_weights(
    short_gguf: Path,
    library_dir: Path,
    load_engine: Callable[..., Engine],
    readout: str,
    schedule: list[tuple[str, list[str]]],
    data: st.DataObject,
) -> None:
    """The same requests one after another in another order, at once, and each to a fresh engine."""
    fresh = opener(short_gguf, library_dir, readout)
    asked = [[worded(state, text) for text in words] for state, words in schedule]
    with fresh() as engine:
        told = [logits(engine.score(questions, "state-first").results) for questions in asked]
        for place in data.draw(st.permutations(range(len(asked)))):
            assert logits(engine.score(asked[place], "state-first").results) == told[place]
        computations = [engine.prepare(questions, "state-first") for questions in asked]
        for computation in computations:
            engine.begin(computation)
        while not all(computation.ended for computation in computations):
            engine.scheduler.advance()
        assert [logits(one.result.results) for one in computations if one.result] == told
    with fresh() as engine:
        assert logits(engine.score(asked[-1], "state-first").results) == told[-1]


def worded(state: str, text: str) -> Question:
    options = tuple(OptionText(words, words, words) for words in ("yes", "no", "nobody knows that"))
    return Question("q", state, text, options, "decision")


def test_an_answer_may_depend_on_its_neighbours_and_is_close_to_the_invariant_one(
    short_gguf: Path, library_dir: Path
) -> None:
    fresh = opener(short_gguf, library_dir, "letters")
    questions = [worded("My parcel is late. " * 20, f"Question {n}: is it late?" * (1 + n)) for n in range(5)]
    with fresh() as engine, fresh(mode="invariant") as invariant:
        together = logits(engine.score(questions, "state-first").results)
        alone = [logits(engine.score([one], "state-first").results)[0] for one in questions]
        apart = logits(invariant.score(questions, "state-first").results)
        for times in (1, 20, 80, 230):  # a pass and less, several, more than a portion
            long = [worded("My parcel is late. " * times, "Is it late?")]
            told = [logits(each.score(long, "schema-first").results) for each in (engine, invariant)]
            assert told[0] == told[1]

    assert together != alone
    assert alone == apart  # nobody stands beside it: the same computation
    for one, other in zip(together, apart, strict=True):
        assert one == pytest.approx(other, abs=0.5)


def test_questions_share_passes_and_requests_do_not(fresh: Fresh) -> None:
    state, numbers = STATES[1], (0, 1, 0, 1)
    passes = {}
    with fresh() as engine, fresh(mode="invariant") as invariant:
        for name, each in (("joined", engine), ("invariant", invariant)):
            for _ in range(2):  # the priors are known the second time
                computation = each.prepare([ask(state, number) for number in numbers], "state-first")
                each.begin(computation)
                passes[name] = 0
                while not computation.ended:
                    each.scheduler.advance()
                    passes[name] += 1
            assert computation.result is not None
            results, timing = computation.result
            assert timing.prefix_cached_tokens == timing.prefix_tokens
            assert sum(result.timing.suffix_forward_seconds for result in results) <= timing.total_seconds
        assert 2 * passes["joined"] <= passes["invariant"]


def test_more_questions_than_stand_side_by_side(fresh: Fresh) -> None:
    """255 of them, in portions that the request alone decides; some longer than a pass."""
    questions = [ask("The lamp is on.", 2 if number % 40 == 7 else number % 2) for number in range(255)]
    with fresh() as engine, fresh(mode="invariant") as invariant:
        first = logits(engine.score(questions, "state-first").results)
        again = logits(engine.score(questions, "state-first").results)
        apart = logits(invariant.score(questions[: 2 * BRANCHES], "state-first").results)

    assert len(first) == 255
    assert again == first
    for one, other in zip(first, apart, strict=False):
        assert one == pytest.approx(other, abs=TOLERANCE)


@pytest.mark.parametrize("architecture", ["qwen3", "qwen35"])
def test_prefixes_come_back_from_their_saved_states(
    tiny_gguf: Callable[..., Path], library_dir: Path, architecture: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fresh = opener(tiny_gguf(architecture=architecture), library_dir, "letters")

    def cached(engine: Engine, state: str) -> int:
        return engine.score([ask(state), ask(state, 1)], "state-first").timing.prefix_cached_tokens

    system, states = 58, [letter * (100 * number + 3) for number, letter in enumerate("abcde")]
    with fresh() as engine:
        assert [cached(engine, state) for state in states] == [system] * len(states)
        assert [cached(engine, state) for state in states] == [system + len(state) + 2 for state in states]
    monkeypatch.setattr(setup, "saved_bytes", lambda *_, **__: 1)
    with fresh() as engine:
        found = [cached(engine, state) for state in states[:2] * 2]
        assert found[-1] == system + len(states[1]) + 2  # the one that was saved last always stays
    with fresh() as engine:  # and it alone: one that came back makes room again
        found = [cached(engine, states[place]) for place in (0, 1, 0, 2, 1)]
        assert found[4] <= system


@pytest.mark.parametrize(("layout", "numbers"), [("state-first", (0, 1)), ("schema-first", (0,))])
def test_a_short_request_goes_between_the_passes_of_a_long_prompt(
    tiny_gguf: Callable[..., Path], library_dir: Path, layout: Layout, numbers: tuple[int, ...]
) -> None:
    """Whether what is long stands in the prefix or behind it."""
    with opener(tiny_gguf(), library_dir, "letters")(turn_tokens=BATCH_TOKENS) as engine:
        long = engine.prepare([ask("y" * 1060, number) for number in numbers], layout)
        short = engine.prepare([ask("on"), ask("on", 1)], "state-first")
        engine.begin(long)
        engine.scheduler.advance()
        engine.begin(short)
        while not short.ended:
            engine.scheduler.advance()
        assert short.result is not None
        assert not long.ended
        while not long.ended:
            engine.scheduler.advance()
        assert long.result is not None
        assert long.cost.left == 0  # what was computed before it rested is not computed again


def test_a_fault_fails_its_request_alone(fresh: Fresh) -> None:
    answers = expected(fresh)
    request: Request = ("state-first", STATES[1], (0, 1, 0))
    layout, state, numbers = request
    with fresh() as engine:
        with suppress(EngineError):  # the sliding window may have passed the NaN
            engine.score([ask(SPOILED, 0), ask(SPOILED, 1)], layout)
        assert logits(engine.score([ask(state, number) for number in numbers], layout).results) == answers(
            request
        )


def test_rotations_stand_side_by_side(tiny_gguf: Callable[..., Path], library_dir: Path) -> None:
    options = tuple(OptionText(words, words, words) for words in ("yes", "no", "maybe"))
    rotated = Question("q", "The lamp. " * 12, "Is it on?", options, "decision", rotate=True)
    fresh = opener(tiny_gguf(), library_dir, "letters")
    layouts: tuple[Layout, ...] = ("state-first", "schema-first")
    for layout in layouts:
        with fresh() as engine, fresh(mode="invariant") as invariant:
            [one], [other] = (each.score([rotated], layout).results for each in (engine, invariant))
        assert one.timing.rotations == 3
        assert one.option_logits == pytest.approx(other.option_logits, abs=TOLERANCE)


@pytest.mark.parametrize("architecture", ["qwen3", "qwen35"])
def test_a_pass_of_several_questions_may_be_left_in_its_middle(
    tiny_gguf: Callable[..., Path], library_dir: Path, monkeypatch: pytest.MonkeyPatch, architecture: str
) -> None:
    """The request has the context alone, so that nobody else's states are moved about."""
    leave = in_the_middle_of_a_pass(monkeypatch)
    questions = [ask("It is on.", number) for number in (0, 1, 0)]
    with opener(tiny_gguf(architecture=architecture), library_dir, "letters")() as engine:
        before = logits(engine.score(questions, "state-first").results)
        leaves = engine.prepare(questions, "state-first")
        engine.begin(leaves)
        leave.append(lambda: engine.scheduler.abandon(leaves))
        while not leaves.ended:
            engine.scheduler.advance()
        assert not leave
        assert isinstance(leaves.failure, AbandonedError)
        assert logits(engine.score(questions, "state-first").results) == before
