"""Runs the forward passes that requests describe: the one place where the model computes for them.

One thread only, but for `abandon`. The one lock guards who is in the pass that runs, so that only a request
that is alone in it, and moves nothing of another's, is ever stopped in its middle.
"""

import threading
from collections.abc import Callable, Sequence
from itertools import islice
from time import perf_counter

from semif_adapter.contract.errors import AbandonedError, EngineError
from semif_adapter.engine.computation import Computation
from semif_adapter.engine.turns import Turns
from semif_adapter.llama.context import ROWS_AT_ONCE, Context, Pass


class Scheduler:
    """Gives the requests in the engine their forward passes by turns."""

    def __init__(
        self, context: Context, *, turn_tokens: int, shares_passes: bool, forget: Callable[[], None]
    ) -> None:
        """With `shares_passes` several may be in one pass. `forget` empties the memory after a fault."""
        self._context = context
        self._shares_passes = shares_passes
        self._forget = forget
        self._turns = Turns[Computation](turn_tokens)
        self._suspects: list[Computation] = []
        """After a fault that several may have caused: to be run one by one, each alone."""
        self._alone: Computation | None = None
        """For whom the memory was emptied, and who is the only one to run since."""
        self._lock = threading.Lock()
        self._stoppable: Computation | None = None
        """Whose pass may end in its middle."""

    def add(self, computation: Computation) -> None:
        """The last to arrive."""
        self._turns.add(computation)

    def advance(self) -> list[Computation]:
        """Run one forward pass for whose turn it is; who ended, and is no longer known."""
        self._go(self._turns.order())
        return self.collect()

    def collect(self) -> list[Computation]:
        """Those that ended; they are no longer known."""
        ended = [each for each in self._turns if each.ended]
        for computation in ended:
            self._turns.remove(computation)
        if self._alone is not None and self._alone.ended:
            self._alone = None
        return ended

    def finish(self, computation: Computation) -> None:
        """Run all passes of `computation`, which was not added, with nobody else's between them."""
        while not computation.ended:
            self._go([computation])

    def abandon(self, computation: Computation) -> None:
        """Nobody waits for it any more: it fails with AbandonedError soon. Safe from any thread."""
        with self._lock:
            computation.abandoned = True
            if self._stoppable is computation:
                self._context.stop()

    def step(self, order: Sequence[Computation]) -> bool:
        """Run one forward pass for the first of `order`, with others where they share passes.

        Those that can do nothing now, or have ended, are passed over; whether anything was done at all. After
        a fault the suspects come first, one by one.
        """
        self._suspects = [each for each in self._suspects if not each.ended]
        order = [each for each in order if not each.ended]
        for computation in (*self._suspects[:1], *order):
            if computation.abandoned:
                self._end(computation, AbandonedError("the computation was abandoned"))
                return True
        taken: dict[Computation, list[Pass]] = {}
        tokens = rows = 0
        for computation in self._suspects[:1] or order:
            if not computation.waiting and (not self._resume(computation) or computation.ended):
                return True
            for part in computation.waiting:
                more_tokens, more_rows = tokens + len(part.tokens), rows + part.wanted
                if taken and (more_tokens > self._context.most_tokens or more_rows > ROWS_AT_ONCE):
                    break
                tokens, rows = more_tokens, more_rows
                taken.setdefault(computation, []).append(part)
            if taken and not self._shares_passes:
                break
        if taken:
            self._compute(taken)
        return bool(taken)

    def _go(self, order: Sequence[Computation]) -> None:
        if not self.step(order):
            self._fault(order, EngineError("the engine cannot go on: each request waits for another"))

    def _compute(self, taken: dict[Computation, list[Pass]]) -> None:
        """Run one forward pass and let everybody in it go on who has all that it waits for."""
        computations = list(taken)
        passes = [part for parts in taken.values() for part in parts]
        with self._lock:
            # For several sequences llama.cpp moves the recurrent states of others about, in the middle of it:
            # a request's own, which has the context alone, are lost with it.
            alone = len(passes) == 1 or not self._shares_passes
            self._stoppable = computations[0] if alone else None
        for computation in computations:
            computation.started = True
        began = perf_counter()
        try:
            rows = iter(self._context.run(passes))
        except AbandonedError as error:
            self._end(computations[0], error)
            return
        except Exception as error:  # noqa: BLE001 - whatever it is, it must not end the others
            self._fault(computations, error)
            return
        finally:
            with self._lock:
                self._stoppable = None
                self._context.resume()
        seconds = perf_counter() - began
        tokens = {each: sum(len(part.tokens) for part in parts) for each, parts in taken.items()}
        for computation, parts in taken.items():
            share = tokens[computation] / sum(tokens.values())
            computation.take(tokens[computation], list(islice(rows, len(parts))), seconds, share)
            if computation in self._turns:
                self._turns.ran(computation, tokens[computation])
        for computation in computations:
            if not computation.waiting and not self._resume(computation):
                return

    def _resume(self, computation: Computation) -> bool:
        """Let `computation` go on; whether it did, or failed and changed everything."""
        try:
            computation.resume()
        except Exception as error:  # noqa: BLE001 - whatever it is, it must not end the others
            self._fault([computation], error)
            return False
        return True

    def _fault(self, computations: Sequence[Computation], error: Exception) -> None:
        """The memory is emptied and all begin anew; the first of `computations` alone, or it fails if it was.

        A NaN left in the memory reaches later answers, since masked cells still count as zero times NaN: who
        fails may be the victim of another, even of one that has its answer, where a sliding window left the
        NaN behind. Where several share passes all of them are run one by one.
        """
        first, known = computations[0], list(self._turns)
        if first is self._alone:
            self._end(first, error)
        else:
            self._alone = first
            if first in known and not self._suspects:
                others = [*computations[1:], *known] if self._shares_passes else []
                self._suspects = list(dict.fromkeys([first, *others]))
        for computation in (first, *known):
            if not computation.ended:
                computation.stop()
        self._forget()

    def _end(self, computation: Computation, error: Exception) -> None:
        computation.stop()
        computation.failure = error
