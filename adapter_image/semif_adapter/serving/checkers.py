"""The threads that parse and tokenise, off the event loop, and whether they come to an end."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from time import monotonic
from typing import TypeVar

from semif_adapter.contract.errors import AbandonedError

CHECKERS = 2
"""A body of some megabytes takes seconds, a ping must be answered within two. More at a time would take the
interpreter's lock from the event loop all the same."""
OVERRUN_SECONDS = 5.0
"""How long after nobody waits any more a check may still go on: llama.cpp tokenises one text to its end."""

Checked = TypeVar("Checked")
GoOn = Callable[[], None]
"""Raises AbandonedError where nobody waits any more."""


class _Check:
    """One piece of work on a checker's thread."""

    def __init__(self) -> None:
        self.given_up_at: float | None = None

    def go_on(self) -> None:
        if self.given_up_at is not None:
            raise AbandonedError("nobody waits for this check any more")


class Checkers:
    """A few threads, for work that is told when to stop. On the event loop's thread."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(CHECKERS, thread_name_prefix="check")
        self._lock = threading.Lock()
        self._running: set[_Check] = set()

    def start(self) -> None:
        """Start the threads, while there is memory for them: a later request may find none."""
        all_started = threading.Barrier(CHECKERS)
        for _ in range(CHECKERS):
            self._threads.submit(all_started.wait)

    async def run(self, work: Callable[[GoOn], Checked]) -> Checked:
        """What `work` returns, or raises; it calls its argument between its parts.

        Cancelling this ends the wait at once, and the work at the next of those calls.
        """
        check = _Check()

        def checking() -> Checked:
            with self._lock:
                self._running.add(check)
            try:
                check.go_on()
                return work(check.go_on)
            finally:
                with self._lock:
                    self._running.discard(check)

        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, checking)
        except asyncio.CancelledError:
            check.given_up_at = monotonic()
            raise

    @property
    def overrun(self) -> bool:
        """Whether a check goes on OVERRUN_SECONDS after it was given up: its thread does nothing else."""
        now = monotonic()
        with self._lock:
            given_up = [one.given_up_at for one in self._running if one.given_up_at is not None]
        return any(now - since > OVERRUN_SECONDS for since in given_up)

    def close(self) -> None:
        """Check nothing more."""
        self._threads.shutdown(wait=False, cancel_futures=True)
