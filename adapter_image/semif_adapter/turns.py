"""Whose turn it is: first come first served, but a long request lets short ones go in between.

Pure; tokens are counts. Who stands first keeps its turn until it has computed `turn_tokens`; then those
behind it that have no more than a turn left go on, in order of arrival, for as many tokens. So a short
request waits for about one turn of a long one besides the short ones before it, a long one takes at most
about twice its time, long ones among themselves keep their order, and nobody starves.
"""

from collections.abc import Iterator
from typing import Generic, Protocol, TypeVar


class Demand(Protocol):
    """What waits for its turn."""

    @property
    def left(self) -> int:
        """Tokens that it still has to compute, at most."""


D = TypeVar("D", bound=Demand)


class Turns(Generic[D]):
    """The order in which demands are served."""

    def __init__(self, turn_tokens: int) -> None:
        self._turn = turn_tokens
        self._demands: list[D] = []
        self._resting = False
        """Whether the first lets short ones go in between."""
        self._spent = 0
        """Tokens of the turn that runs, the first one's or the short ones' between."""

    def __len__(self) -> int:
        return len(self._demands)

    def __iter__(self) -> Iterator[D]:
        return iter(self._demands)

    def add(self, demand: D) -> None:
        """The last to arrive."""
        self._demands.append(demand)

    def remove(self, demand: D) -> None:
        """It is done, or wanted no more."""
        if demand is self._demands[0]:
            self._begin(resting=False)
        self._demands.remove(demand)

    def order(self) -> list[D]:
        """All of them: whose turn it is, then who would be next."""
        first, others = self._demands[:1], self._demands[1:]
        short = [demand for demand in others if demand.left <= self._turn]
        long = [demand for demand in others if demand.left > self._turn]
        if self._resting and not short:
            self._begin(resting=False)
        return [*short, *first, *long] if self._resting else [*first, *short, *long]

    def ran(self, demand: D, tokens: int) -> None:
        """`demand` has computed `tokens`; out of its turn, beside others, it is not counted."""
        if self._resting == (demand is self._demands[0]):
            return
        self._spent += tokens
        if self._spent >= self._turn:
            self._begin(resting=not self._resting)

    def _begin(self, *, resting: bool) -> None:
        self._resting, self._spent = resting, 0
