"""What the engine computes for one request, and how far it is."""

from collections.abc import Callable, Sequence
from time import perf_counter
from typing import NamedTuple

from semif_adapter.contract.wire import Result, SharedTiming
from semif_adapter.decoding.steps import Steps
from semif_adapter.llama.context import Pass, Rows
from semif_adapter.readouts.written import WrittenQuestion


class RequestResult(NamedTuple):
    """What a request is answered with: a result for each of its questions, in their order."""

    results: list[Result]
    timing: SharedTiming


class TokenCost:
    """What one request costs, in tokens: turns, admission and the token rate all count these.

    Cached tokens cost nothing; how many they are is known better and better.
    """

    def __init__(self, most: int, cached: int = 0) -> None:
        self.most = most
        """With nothing cached."""
        self.spent = 0
        """Computed so far, also before a fault that made it begin anew."""
        self.find_cached(cached)

    def find_cached(self, cached: int) -> None:
        """Before it begins: so many of its tokens are in the engine's caches."""
        self.expected = self.left = self.most - cached

    def compute(self, tokens: int) -> None:
        """So many were computed for it."""
        self.left -= tokens
        self.spent += tokens

    def begin_anew(self) -> None:
        """After everything was forgotten."""
        self.find_cached(0)


class Computation:
    """One request in the engine: its questions in tokens, the passes that they still need, the result.

    Prepared on any thread and then moved on by the engine's alone; others read how far it is.
    """

    def __init__(
        self,
        groups: Sequence[Sequence[WrittenQuestion]],
        cost: TokenCost,
        start: Callable[["Computation"], Steps[RequestResult]],
    ) -> None:
        """`start` begins its steps, anew after a fault."""
        self.groups = groups
        """Its questions, those with one readout together."""
        self.cost = cost
        self.busy_seconds = 0.0
        """Its share, by tokens, of the time that they took."""
        self.result: RequestResult | None = None
        self.failure: Exception | None = None
        self.started = False
        """Whether a forward pass was begun for it."""
        self.abandoned = False
        self._start = start
        self._steps: Steps[RequestResult] | None = None
        self._passes: Sequence[Pass] = ()
        self._rows: list[Rows] = []
        """Of the first of `_passes`; the others were not run yet."""
        self._seconds = 0.0
        self._resumed_at: float | None = None

    @property
    def ended(self) -> bool:
        """Whether it has a result or a failure."""
        return self.result is not None or self.failure is not None

    @property
    def waiting(self) -> Sequence[Pass]:
        """The passes to run before it can go on."""
        return self._passes[len(self._rows) :]

    @property
    def left(self) -> int:
        """Tokens that it still has to compute, by what is known; an estimate, which may fall below zero."""
        return self.cost.left

    def clock(self) -> float:
        """Seconds that the engine has worked on it, alone or with others; its rests do not count."""
        resumed_at = self._resumed_at  # once: other threads ask too, and it may end meanwhile
        return self._seconds + (0.0 if resumed_at is None else perf_counter() - resumed_at)

    def resume(self) -> None:
        """Go on to the next passes, or to the end. Raises what the steps raise."""
        self._resumed_at = perf_counter()
        try:
            if self._steps is None:
                self._steps = self._start(self)
                self._passes = next(self._steps)
            else:
                self._passes = self._steps.send(self._rows)
        except StopIteration as end:
            self.result = end.value
            self._passes = ()
        finally:
            self._rows = []
            taken = perf_counter() - self._resumed_at
            self._resumed_at = None
            self._seconds += taken
            self.busy_seconds += taken

    def take(self, tokens: int, rows: Sequence[Rows], seconds: float, share: float) -> None:
        """The next of its passes were run, `tokens` in all, by a forward pass of `seconds`."""
        self._rows += rows
        self.cost.compute(tokens)
        self._seconds += seconds
        self.busy_seconds += seconds * share

    def stop(self) -> None:
        """Give back what its steps hold; `resume` would begin anew."""
        if self._steps is not None:
            self._steps.close()
        self._steps, self._passes, self._rows = None, (), []
        self.cost.begin_anew()
