"""One thread owns the engine; requests wait for it in a bounded queue.

What is not said to run elsewhere runs on the event loop's thread, so the counters need no lock. The engine is
loaded, asked and closed on its own thread only: a libllama context must not be touched from two.
"""

import asyncio
import logging
import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from time import monotonic
from typing import Literal, NamedTuple, Protocol, TypeVarTuple, Unpack

from semif_adapter.contract import Decision, Layout, ModelInfo, Result, SharedTiming
from semif_adapter.errors import (
    AdapterError,
    DrainingError,
    EngineError,
    LoadingError,
    OverloadedError,
    StartupError,
)

logger = logging.getLogger(__name__)

LOADING_RETRY_SECONDS = 10.0
DRAINING_RETRY_SECONDS = 1.0
"""Another instance answers a retry: the load balancer stops sending here as soon as `/ping` fails."""
CLOSE_SECONDS = 1.0
MEAN_WEIGHT = 0.2
"""How much the latest request counts in the running mean of seconds per request."""

State = Literal["loading", "ready", "failed", "draining"]
Answer = tuple[list[Result], SharedTiming]
Arguments = TypeVarTuple("Arguments")


class ScoringEngine(Protocol):
    """The engine's door; `semif_adapter.engine.Engine` is the one that serves."""

    @property
    def info(self) -> ModelInfo:
        """What is loaded."""

    def check(self, decisions: Sequence[Decision], layout: Layout) -> None:
        """Refuse what `score` would refuse, without computing; safe from any thread."""

    def score(self, decisions: Sequence[Decision], layout: Layout) -> Answer:
        """Answer the decisions of one request, in their order; called from the engine's thread only."""

    def close(self) -> None:
        """Free the model."""


class _Job(NamedTuple):
    decisions: Sequence[Decision]
    layout: Layout
    answer: "asyncio.Future[Answer]"


class Worker:
    """Admits requests up to a limit and hands them, one after another, to the engine's thread."""

    def __init__(self, load: Callable[[], ScoringEngine], max_in_flight: int) -> None:
        self.state: State = "loading"
        self._load = load
        self._max_in_flight = max_in_flight
        self.in_flight = 0
        """Requests admitted and not answered yet."""
        self._engine: ScoringEngine | None = None
        self._loaded = asyncio.Event()
        self._load_error: StartupError | None = None
        self._idle = asyncio.Event()
        self._idle.set()
        self._mean_seconds = 1.0
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="engine", daemon=True)

    def start(self) -> None:
        """Start the engine's thread, which loads the model. Call it on the running event loop."""
        self._loop = asyncio.get_running_loop()
        self._thread.start()

    async def wait_loaded(self) -> None:
        """Wait until the model is ready. Raises StartupError if it cannot be."""
        await self._loaded.wait()
        if self._load_error is not None:
            raise self._load_error

    def check_ready(self) -> None:
        """Raise LoadingError or DrainingError (both 503) unless requests are taken."""
        if self.state == "draining":
            raise DrainingError("the server is stopping", retry_after_seconds=DRAINING_RETRY_SECONDS)
        if self.state != "ready":
            raise LoadingError("the model is not loaded yet", retry_after_seconds=LOADING_RETRY_SECONDS)

    @contextmanager
    def admit(self) -> Iterator[None]:
        """Hold one of the `max_in_flight` places while the request is read, scored and answered.

        Raises LoadingError, DrainingError or OverloadedError (all 503) where there is none.
        """
        self.check_ready()
        if self.in_flight >= self._max_in_flight:
            wait = round(max(0.1, self._mean_seconds * self.in_flight), 1)
            raise OverloadedError(
                f"{self.in_flight} requests are in flight, the limit is {self._max_in_flight}",
                retry_after_seconds=wait,
            )
        self.in_flight += 1
        self._idle.clear()
        try:
            yield
        finally:
            self.in_flight -= 1
            if self.in_flight == 0:
                self._idle.set()

    def check(self, decisions: Sequence[Decision], layout: Layout) -> None:
        """Refuse now what would be refused after its turn in the queue: a prompt that does not fit, for one.

        May run on any thread. Raises AdapterError.
        """
        assert self._engine is not None  # admitted: the model is loaded
        self._engine.check(decisions, layout)

    async def score(self, decisions: Sequence[Decision], layout: Layout) -> Answer:
        """Queue the decisions of one admitted request and wait for their answer.

        Raises what the engine raises: AdapterError, EngineError for any failure it did not foresee.
        """
        answer: asyncio.Future[Answer] = self._loop.create_future()
        self._jobs.put(_Job(decisions, layout, answer))
        return await answer

    def drain(self) -> None:
        """Admit nothing from now on."""
        self._enter("draining")

    async def drained(self) -> None:
        """Wait until every admitted request has its answer."""
        await self._idle.wait()

    async def close(self) -> None:
        """Let the engine's thread finish its queue and free the model.

        Waits CLOSE_SECONDS for it and no longer: a load or a decode cannot be interrupted.
        """
        self._jobs.put(None)
        await asyncio.to_thread(self._thread.join, CLOSE_SECONDS)

    def _enter(self, state: State) -> None:
        # A stop that arrives while the model loads is not undone by the load's success.
        if self.state in ("draining", state):
            return
        self.state = state
        logger.info("state: %s", state)

    # On the engine's thread.

    def _run(self) -> None:
        try:
            engine = self._load()
        except StartupError as error:
            self._report(self._load_failed, error)
            return
        except Exception as error:  # noqa: BLE001 - any failure must end the process, not leave it loading
            self._report(
                self._load_failed,
                StartupError(f"the model cannot be loaded: {type(error).__name__}: {error}"),
            )
            return
        self._report(self._load_done, engine)
        while (job := self._jobs.get()) is not None:
            self._answer(engine, job)
        engine.close()

    def _answer(self, engine: ScoringEngine, job: _Job) -> None:
        if job.answer.cancelled():
            return
        started = monotonic()
        try:
            answer = engine.score(job.decisions, job.layout)
        except AdapterError as error:
            self._report(self._fail, job.answer, error)
        except Exception as error:  # noqa: BLE001 - the request gets its 500, the thread lives on
            # Only the type: the message of an unforeseen error may hold the caller's text.
            logger.error("engine fault: %s", type(error).__name__)
            self._report(
                self._fail, job.answer, EngineError(f"the engine failed with {type(error).__name__}")
            )
        else:
            self._report(self._finish, job.answer, answer, monotonic() - started)

    def _report(self, callback: Callable[[Unpack[Arguments]], None], *arguments: *Arguments) -> None:
        # A loop that is closed has nobody waiting: the server gave up on this thread.
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(callback, *arguments)

    # Back on the event loop's thread. A future may be cancelled while the engine works on its job.

    def _load_done(self, engine: ScoringEngine) -> None:
        info = engine.info
        self._engine = engine
        logger.info(
            "model: %s, %s, sha256 %s, llama.cpp %s", info.name, info.file, info.sha256, info.llama_cpp_build
        )
        self._enter("ready")
        self._loaded.set()

    def _load_failed(self, error: StartupError) -> None:
        self._load_error = error
        self._enter("failed")
        self._loaded.set()

    def _finish(self, future: "asyncio.Future[Answer]", answer: Answer, seconds: float) -> None:
        self._mean_seconds += MEAN_WEIGHT * (seconds - self._mean_seconds)
        if not future.done():
            future.set_result(answer)

    def _fail(self, future: "asyncio.Future[Answer]", error: AdapterError) -> None:
        if not future.done():
            future.set_exception(error)
