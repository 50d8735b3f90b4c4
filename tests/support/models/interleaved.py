"""Requests on one engine whose forward passes are given out one by one, in any order."""

from collections.abc import Sequence

from hypothesis import strategies as st

from semif_adapter.contract.question import OptionText, Question
from semif_adapter.contract.wire import Layout
from semif_adapter.engine.computation import Computation
from semif_adapter.engine.engine import Engine

Request = tuple[Layout, str, tuple[int, ...]]
"""A layout, a state, and which of QUESTIONS."""

QUESTIONS = (
    ("Is the lamp on?", ("yes", "no", "yes and no")),
    ("Which room is it in? " * 6, ("hall", "kitchen")),
    ("Who switched it off? " * 25, ("me", "a guest", "the cat", "a")),
)


def request_kinds(states: Sequence[str], most: int) -> st.SearchStrategy[Request]:
    """Of one to `most` questions about one of `states`."""
    return st.tuples(
        st.sampled_from(("schema-first", "state-first")),
        st.sampled_from(states),
        st.lists(st.integers(0, len(QUESTIONS) - 1), min_size=1, max_size=most).map(tuple),
    )


def ask(state: str, number: int = 0) -> Question:
    """One of QUESTIONS about `state`."""
    text, options = QUESTIONS[number]
    return Question(str(number), state, text, tuple(OptionText(o, o, o) for o in options), "decision")


class Interleaved:
    """Requests on one engine, of which each is given its forward passes one by one, in any order.

    They are of few kinds, so that what one left in the cache is soon another's.
    """

    def __init__(self, engine: Engine, kinds: list[Request]) -> None:
        self._engine = engine
        self._kinds = kinds
        self._asked: dict[Computation, Request] = {}
        self.ended: list[tuple[Computation, Request]] = []

    def begin(self, place: int) -> None:
        """The request of the kind at `place` arrives."""
        layout, state, numbers = request = self._kinds[place % len(self._kinds)]
        questions = [ask(state, number) for number in numbers]
        computation = self._engine.prepare(questions, layout)
        self._engine.begin(computation)
        self._asked[computation] = request

    def step(self, place: int) -> bool:
        """Give the live one at `place` its next pass; False where it waits for others."""
        if not self._asked:
            return False
        moved = self._engine.scheduler.step([list(self._asked)[place % len(self._asked)]])
        self.ended += [
            (computation, self._asked.pop(computation)) for computation in self._engine.scheduler.collect()
        ]
        return moved

    def abandon(self, place: int) -> None:
        """The live one at `place` leaves."""
        if self._asked:
            computation = list(self._asked)[place % len(self._asked)]
            self._engine.scheduler.abandon(computation)
            self.step(place)
            assert self.ended[-1][0] is computation

    def finish(self) -> None:
        """Let all come to their ends."""
        while self._asked:
            moved = [self.step(place) for place in range(len(self._asked))]
            assert any(moved)


places = st.integers(0, 7)
events = st.one_of(
    st.tuples(st.just(Interleaved.begin), places),
    st.tuples(st.just(Interleaved.step), places),
    st.tuples(st.just(Interleaved.step), places),
    st.tuples(st.just(Interleaved.step), places),
    st.tuples(st.just(Interleaved.abandon), places),
)
