"""Runs the forward passes that requests describe: the one place where the model computes for them.

One thread only, but for `abandon`. The one lock guards who is in the pass that runs, so that only a request
that is alone in it, with one sequence, is ever stopped in its middle.
"""

import threading
from collections.abc import Callable, Sequence
from itertools import islice
from time import perf_counter
from typing import Generic, TypeVar

from semif_adapter.contract.errors import AbandonedError, EngineError
from semif_adapter.decoding.steps import Steps
from semif_adapter.engine.turns import Turns
from semif_adapter.llama.context import ROWS_AT_ONCE, Context, Pass, Rows

T = TypeVar("T")


class Run(Generic[T]):
    """One request on its way through the engine."""

    def __init__(self, start: Callable[["Run[T]"], Steps[T]], tokens: int) -> None:
        """`start` begins its steps, anew after a fault; `tokens` is what they compute at most."""
        self.tokens = tokens
        """Tokens that it has to compute, at most."""
        self.left = tokens
        """Those of them that it has not computed yet."""
        self.decoded_tokens = 0
        """Tokens of its forward passes so far."""
        self.busy_seconds = 0.0
        """Its share, by tokens, of the time that they took."""
        self.result: T | None = None
        self.failure: Exception | None = None
        self.started = False
        """Whether a forward pass was begun for it."""
        self.abandoned = False
        self._start = start
        self._steps: Steps[T] | None = None
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
        self.left -= tokens
        self.decoded_tokens += tokens
        self._seconds += seconds
        self.busy_seconds += seconds * share

    def stop(self) -> None:
        """Give back what its steps hold; `resume` would begin anew."""
        if self._steps is not None:
            self._steps.close()
        self._steps, self._passes, self._rows = None, (), []
        self.left = self.tokens


class Scheduler(Generic[T]):
    """Gives the runs their forward passes by turns."""

    def __init__(
        self, context: Context, *, turn_tokens: int, shares_passes: bool, forget: Callable[[], None]
    ) -> None:
        """With `shares_passes` several runs go into one pass. `forget` empties the memory after a fault."""
        self._context = context
        self._shares_passes = shares_passes
        self._forget = forget
        self._turns = Turns[Run[T]](turn_tokens)
        self._suspects: list[Run[T]] = []
        """After a fault that several may have caused: to be run one by one, each alone."""
        self._lock = threading.Lock()
        self._stoppable: Run[T] | None = None
        """Whose pass may end in its middle."""

    def add(self, run: Run[T]) -> None:
        """The last to arrive."""
        self._turns.add(run)

    def advance(self) -> list[Run[T]]:
        """Run one forward pass for whose turn it is; who ended, and is no longer known."""
        self._go(self._suspects[:1] or self._turns.order())
        return self.collect()

    def collect(self) -> list[Run[T]]:
        """Those that ended; they are no longer known."""
        ended = [run for run in self._turns if run.ended]
        for run in ended:
            self._turns.remove(run)
        self._suspects = [run for run in self._suspects if not run.ended]
        return ended

    def finish(self, run: Run[T]) -> None:
        """Run all passes of `run`, which was not added, with nobody else's between them."""
        while not run.ended:
            self._go([run])

    def abandon(self, run: Run[T]) -> None:
        """Nobody waits for `run` any more: it fails with AbandonedError soon. Safe from any thread."""
        with self._lock:
            run.abandoned = True
            if self._stoppable is run:
                self._context.stop()

    def step(self, order: Sequence[Run[T]]) -> bool:
        """Run one forward pass for the first of `order`, with others where they share passes.

        Those that can do nothing now are passed over; whether anything was done at all.
        """
        taken: dict[Run[T], list[Pass]] = {}
        tokens = rows = 0
        for run in order:
            if run.abandoned:
                self._end(run, AbandonedError("the computation was abandoned"))
                return True
            if not run.waiting and (not self._resume(run) or run.ended):
                return True
            for part in run.waiting:
                more_tokens, more_rows = tokens + len(part.tokens), rows + part.wanted
                if taken and (more_tokens > self._context.batch_tokens or more_rows > ROWS_AT_ONCE):
                    break
                tokens, rows = more_tokens, more_rows
                taken.setdefault(run, []).append(part)
                if not self._shares_passes:
                    self._compute(taken)
                    return True
        if taken:
            self._compute(taken)
        return bool(taken)

    def _go(self, order: Sequence[Run[T]]) -> None:
        if not self.step(order):
            self._fault(order, EngineError("the engine cannot go on: each request waits for another"))

    def _compute(self, taken: dict[Run[T], list[Pass]]) -> None:
        """Run one forward pass and let everybody in it go on who has all that it waits for."""
        runs = list(taken)
        passes = [part for parts in taken.values() for part in parts]
        with self._lock:
            # For several sequences llama.cpp moves the recurrent states of others about, in the middle of it.
            self._stoppable = runs[0] if len(passes) == 1 else None
        for run in runs:
            run.started = True
        began = perf_counter()
        try:
            rows = iter(self._context.run(passes))
        except AbandonedError as error:
            self._end(runs[0], error)
            return
        except Exception as error:  # noqa: BLE001 - whatever it is, it must not end the others
            self._fault(runs, error)
            return
        finally:
            with self._lock:
                self._stoppable = None
                self._context.resume()
        seconds = perf_counter() - began
        tokens = {run: sum(len(part.tokens) for part in parts) for run, parts in taken.items()}
        for run, parts in taken.items():
            share = tokens[run] / sum(tokens.values())
            run.take(tokens[run], list(islice(rows, len(parts))), seconds, share)
            if run in self._turns:
                self._turns.ran(run, tokens[run])
        for run in runs:
            if not run.waiting and not self._resume(run):
                return

    def _resume(self, run: Run[T]) -> bool:
        """Let `run` go on; whether it did, or failed and changed everything."""
        try:
            run.resume()
        except Exception as error:  # noqa: BLE001 - whatever it is, it must not end the others
            self._fault([run], error)
            return False
        return True

    def _fault(self, runs: Sequence[Run[T]], error: Exception) -> None:
        """The first of `runs` fails. All others begin anew, since the memory is emptied.

        A NaN left in it would reach later answers: masked cells still count as zero times NaN. Where several
        share it, the one that fails may be the victim of another: all of them are run alone then.
        """
        known = list(self._turns)
        if self._shares_passes and not self._suspects and runs[0] in known and len(known) > 1:
            self._suspects = [*runs, *(run for run in known if run not in runs)]
        else:
            self._end(runs[0], error)
        for run in known:
            if not run.ended:
                run.stop()
        self._forget()

    def _end(self, run: Run[T], error: Exception) -> None:
        run.stop()
        run.failure = error
