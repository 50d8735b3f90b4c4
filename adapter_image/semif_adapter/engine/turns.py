"""Whose turn it is: first come first served, but a long request lets short ones go in between.

Pure; tokens are counts. A request is long where it has more than a turn of tokens to compute when it
arrives. Who stands first goes on, and after it who stands first then, until a turn of tokens is computed;
then the short ones go on, in order of arrival, for as many. So a short request waits for about one turn of
a long one besides the short ones before it, a long one takes at most about twice its time, each kind keeps
its order, and nobody starves.
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
        self._is_short: dict[D, bool] = {}
        """All that wait, in order of arrival."""
        self._resting = False
        """Whether a long one that stands first lets the short ones go."""
        self._spent = 0
        """Tokens of the turn that runs, of those who stand first or of the short ones between."""

    def __len__(self) -> int:
        return len(self._is_short)

    def __iter__(self) -> Iterator[D]:
        return iter(self._is_short)

    def add(self, demand: D) -> None:
        """The last to arrive."""
        self._is_short[demand] = demand.left <= self._turn

    def remove(self, demand: D) -> None:
        """It is done, or wanted no more."""
        del self._is_short[demand]
        if not self._is_short:
            self._begin(resting=False)

    def order(self) -> list[D]:
        """All of them: whose turn it is, then who would be next."""
        short = [demand for demand, is_short in self._is_short.items() if is_short]
        long = [demand for demand, is_short in self._is_short.items() if not is_short]
        if not short:
            self._begin(resting=False)
        first = [] if self._resting else list(self._is_short)[:1]
        return [*first, *(demand for demand in (*short, *long) if demand not in first)]

    def ran(self, demand: D, tokens: int) -> None:
        """`demand` has computed `tokens`; out of its turn, beside others, it is not counted."""
        in_turn = self._is_short[demand] if self._resting else demand is next(iter(self._is_short))
        if not in_turn:
            return
        self._spent += tokens
        if self._spent >= self._turn:
            self._begin(resting=not self._resting)

    def _begin(self, *, resting: bool) -> None:
        self._resting, self._spent = resting, 0
