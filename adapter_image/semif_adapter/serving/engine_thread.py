"""The thread that owns the engine: it loads it, asks it and closes it.

A libllama context must not be touched from two threads. What the engine has to say goes back to the event
loop's thread, as calls of an `EngineListener`.
"""

import asyncio
import logging
import queue
import threading
from collections.abc import Callable
from contextlib import suppress
from time import monotonic
from typing import Protocol, TypeVarTuple, Unpack

from semif_adapter.contract.errors import AdapterError, EngineError, StartupError
from semif_adapter.engine.computation import Computation
from semif_adapter.engine.scoring_engine import ScoringEngine

logger = logging.getLogger(__name__)

CLOSE_SECONDS = 1.0

Arguments = TypeVarTuple("Arguments")


class EngineListener(Protocol):
    """Who is told what the engine does, on the event loop's thread."""

    def engine_loaded(self, engine: ScoringEngine) -> None:
        """It can be asked."""

    def engine_load_failed(self, error: StartupError) -> None:
        """It never will be; the thread has ended."""

    def engine_ended(self, computation: Computation, failure: AdapterError | None) -> None:
        """`computation` has its result, or failed with `failure`."""

    def engine_broke(self, reason: str) -> None:
        """It can answer nothing any more; the thread has ended."""


class EngineThread:
    """Loads the engine and runs its forward passes, for what is submitted."""

    def __init__(self, load: Callable[[], ScoringEngine], listener: EngineListener) -> None:
        self._load = load
        self._listener = listener
        self._submitted: queue.SimpleQueue[Computation | None] = queue.SimpleQueue()
        self._busy_since: float | None = None
        self._thread = threading.Thread(target=self._run_and_end, name="engine", daemon=True)
        self._ended = asyncio.Event()

    # On the event loop's thread.

    def start(self) -> None:
        """Load the model. Call it on the running event loop. Raises RuntimeError without room for it."""
        self._loop = asyncio.get_running_loop()
        self._thread.start()

    def submit(self, computation: Computation) -> None:
        """Have `computation` run, by turns with the others; nothing of it where it is abandoned before."""
        self._submitted.put(computation)

    def still_seconds(self, moved_at: float) -> float:
        """How long the engine, which last moved at `moved_at`, has stood still with something to do."""
        busy_since = self._busy_since
        return 0.0 if busy_since is None else monotonic() - max(busy_since, moved_at)

    async def close(self) -> None:
        """Let the thread finish what was submitted and free the model.

        Waits CLOSE_SECONDS for it and no longer: a load cannot be interrupted.
        """
        if self._thread.ident is None:
            return  # there was no room for it
        self._submitted.put(None)
        with suppress(TimeoutError):
            # Not Thread.join on another thread: there may be no room for that one.
            await asyncio.wait_for(self._ended.wait(), CLOSE_SECONDS)

    # On the engine's thread.

    def _run_and_end(self) -> None:
        try:
            self._run()
        finally:
            self._tell(self._ended.set)

    def _run(self) -> None:
        try:
            engine = self._load()
        except StartupError as error:
            self._tell(self._listener.engine_load_failed, error)
            return
        except Exception as error:  # noqa: BLE001 - any failure must end the process, not leave it loading
            self._tell(
                self._listener.engine_load_failed,
                StartupError(f"the model cannot be loaded: {type(error).__name__}: {error}"),
            )
            return
        self._tell(self._listener.engine_loaded, engine)
        try:
            self._work(engine)
        except BaseException as error:  # noqa: BLE001 - a thread that ends must end the process too
            self._tell(self._listener.engine_broke, type(error).__name__)
        else:
            engine.close()

    def _work(self, engine: ScoringEngine) -> None:
        """Take what is submitted and run forward passes for it, until told to end and all is done."""
        begun = 0
        taking = True
        while taking or begun:
            while taking and (not begun or not self._submitted.empty()):
                computation = self._submitted.get()
                taking = computation is not None
                if computation is not None and not computation.abandoned:
                    engine.begin(computation)
                    self._busy_since = self._busy_since or monotonic()
                    begun += 1
            if not begun:
                break
            for computation in engine.scheduler.advance():
                begun -= 1
                self._end(engine, computation)
            if not begun:
                self._busy_since = None

    def _end(self, engine: ScoringEngine, computation: Computation) -> None:
        failure = computation.failure
        if failure is not None and not isinstance(failure, AdapterError):
            # Only the type: the message of an unforeseen error may hold the caller's text.
            logger.error("engine fault: %s", type(failure).__name__)
            failure = EngineError(f"the engine failed with {type(failure).__name__}")
        self._tell(self._listener.engine_ended, computation, failure)
        if isinstance(failure, EngineError):
            # One request's fault, or the engine's end? The warm-up decision tells.
            engine.prove()

    def _tell(self, call: Callable[[Unpack[Arguments]], None], *arguments: *Arguments) -> None:
        # A loop that is closed has nobody waiting: the server gave up on this thread.
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(call, *arguments)
