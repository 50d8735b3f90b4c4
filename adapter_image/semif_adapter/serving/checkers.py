"""The threads that parse and tokenise, off the event loop, and whether they come to an end."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from time import monotonic
from typing import Any, Generic, TypeVar

from semif_adapter.contract.errors import AbandonedError

CHECKERS = 2
"""A body of some megabytes takes seconds, a ping must be answered within two. More at a time would take the
interpreter's lock from the event loop all the same."""
LONG_BODY_BYTES = 262_144
"""Larger bodies are checked one at a time, beside the others: no number of them keeps short ones waiting."""
OVERRUN_SECONDS = 5.0
LONG_OVERRUN_SECONDS = 60.0
"""How long after nobody waits any more a check may still go on: llama.cpp tokenises one text to its end.
Four megabytes of a prompt that fits its context take it 11 s (docs/adr/0016-texts.md)."""

Checked = TypeVar("Checked")
GoOn = Callable[[], None]
"""Raises AbandonedError where nobody waits any more."""


class _Check(Generic[Checked]):
    """One piece of work on a checker's thread, or on its way there."""

    def __init__(self, work: Callable[[GoOn], Checked]) -> None:
        self._work: Callable[[GoOn], Checked] | None = work
        self.given_up_at: float | None = None

    def run(self) -> Checked:
        work = self._work
        self._go_on()
        assert work is not None
        return work(self._go_on)

    def give_up(self) -> None:
        """Nobody waits for it any more."""
        self.given_up_at = monotonic()
        # The executor keeps a cancelled item until a thread comes to it: with the document, whose memory
        # counts as free by then, many of them would wait behind one long check.
        self._work = None

    def _go_on(self) -> None:
        if self.given_up_at is not None:
            raise AbandonedError("nobody waits for this check any more")


class _Lane:
    """Threads for work of one kind, first come first served."""

    def __init__(self, threads: int, name: str) -> None:
        self._count = threads
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix=name)
        self._lock = threading.Lock()
        self._running: set[_Check[Any]] = set()

    def start(self) -> None:
        all_started = threading.Event()  # a thread that is idle meanwhile would keep the next from its start
        try:
            for _ in range(self._count):
                self._threads.submit(all_started.wait)
        finally:
            all_started.set()

    def submit(self, check: _Check[Checked]) -> "Future[Checked]":
        def checking() -> Checked:
            with self._lock:
                self._running.add(check)
            try:
                return check.run()
            finally:
                with self._lock:
                    self._running.discard(check)

        return self._threads.submit(checking)

    def overruns(self, seconds: float) -> bool:
        now = monotonic()
        with self._lock:
            given_up = [one.given_up_at for one in self._running if one.given_up_at is not None]
        return any(now - since > seconds for since in given_up)

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)


class Checkers:
    """A few threads, for work that is told when to stop. On the event loop's thread."""

    def __init__(self) -> None:
        self._short = _Lane(CHECKERS, "check")
        self._long = _Lane(1, "check-long")

    def start(self) -> None:
        """Start the threads, while there is memory for them: a later request may find none.

        Raises RuntimeError where there is no room for one.
        """
        self._short.start()
        self._long.start()

    async def run(self, size: int, work: Callable[[GoOn], Checked], ended: Callable[[], None]) -> Checked:
        """What `work` on a body of `size` bytes returns, or raises; it calls its argument between its parts.

        Cancelling this ends the wait at once, and the work at the next of those calls. `ended` is called when
        the thread is done with it, whether or not somebody still waits.
        """
        loop = asyncio.get_running_loop()
        check = _Check(work)
        lane = self._long if size > LONG_BODY_BYTES else self._short
        future = lane.submit(check)

        def tell(_: object) -> None:
            with suppress(RuntimeError):  # the loop is closed, and nobody counts any more
                loop.call_soon_threadsafe(ended)

        future.add_done_callback(tell)
        try:
            return await asyncio.wrap_future(future)
        except asyncio.CancelledError:
            check.give_up()
            raise

    @property
    def overrun(self) -> bool:
        """Whether a check goes on for too long after it was given up: its thread does nothing else."""
        return self._short.overruns(OVERRUN_SECONDS) or self._long.overruns(LONG_OVERRUN_SECONDS)

    def close(self) -> None:
        """Check nothing more."""
        self._short.close()
        self._long.close()
