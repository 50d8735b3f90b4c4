"""The requests that were admitted, up to the limits, and their answers from the engine's thread.

On the event loop's thread, so that the counters need no lock.
"""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic

from semif_adapter.contract.errors import (
    AdapterError,
    DeadlineError,
    EngineEndedError,
    NoThreadError,
    StartupError,
)
from semif_adapter.contract.settings import Settings
from semif_adapter.engine.computation import Computation, RequestResult
from semif_adapter.engine.scoring_engine import ScoringEngine
from semif_adapter.serving.admission import Admission, TokenRate
from semif_adapter.serving.admitted_request import AdmittedRequest
from semif_adapter.serving.checkers import Checkers
from semif_adapter.serving.engine_thread import EngineThread
from semif_adapter.serving.lifecycle import Lifecycle
from semif_adapter.serving.request_memory import RequestMemory

SHORTEST_STALL_SECONDS = 30.0
STALL_FACTOR = 4.0
"""How much longer than the token rate says, or than the slowest lately, a step may take before the engine
counts as stalled. Passes grow with the depth of the prompt, each a little longer than the one before."""


class RequestQueue:
    """Admits requests, hands them to the engine's thread, which serves them by turns, and waits with them."""

    def __init__(self, load: Callable[[], ScoringEngine], settings: Settings) -> None:
        """`load` runs on the engine's thread, once that is started."""
        self.lifecycle = Lifecycle()
        self.engine_thread = EngineThread(load, self)
        self.checkers = Checkers()
        """Where requests are parsed and tokenised."""
        self.memory = RequestMemory(0)
        """What they may take; nothing before the model is loaded, since none is read before."""
        self.admission = Admission(
            max_requests=settings.max_in_flight,
            max_tokens=settings.max_queued_tokens,
            turn_tokens=settings.turn_tokens,
        )
        self._deadline_seconds = settings.deadline_seconds
        self._stall_seconds = settings.stall_seconds
        self._engine: ScoringEngine | None = None
        self._waiting: dict[Computation, AdmittedRequest] = {}
        self._idle = asyncio.Event()
        self._idle.set()

    def start(self) -> None:
        """Start the threads, of which one loads the model; where they have no room, the load has failed.

        Call it on the running event loop.
        """
        try:
            self.checkers.start()
            self.engine_thread.start()
        except (RuntimeError, MemoryError):
            self.engine_load_failed(NoThreadError())

    async def close(self) -> None:
        """Have the threads end; what they work on is waited for a second."""
        self.checkers.close()
        await self.engine_thread.close()

    @property
    def engine(self) -> ScoringEngine:
        """The engine, for requests that were admitted: it is loaded. Safe from any thread."""
        assert self._engine is not None
        return self._engine

    def check_ready(self) -> None:
        """Raise LoadingError, StalledError or DrainingError (all 503) unless requests are taken."""
        if self._engine is not None:
            still = self.engine_thread.still_seconds(self._engine.moved_at)
            self.lifecycle.engine_moves(moves=still <= self.stall_seconds and not self.checkers.overrun)
        self.lifecycle.check_ready()

    @property
    def stall_seconds(self) -> float:
        """How long the engine may go without a step before it counts as stalled."""
        if self._stall_seconds is not None:
            return self._stall_seconds
        if self._engine is None:
            return SHORTEST_STALL_SECONDS
        step = self._engine.step_tokens / self.admission.rate.tokens_per_second
        return max(SHORTEST_STALL_SECONDS, STALL_FACTOR * max(step, self._engine.slowest_step_seconds))

    @contextmanager
    def admit(self, arrived: float) -> Iterator[AdmittedRequest]:
        """Hold one of the `max_in_flight` places while the request is checked, queued and scored.

        It must be answered within the deadline from `arrived` on, as `time.monotonic()` counts.

        Raises LoadingError, StalledError, DrainingError or OverloadedError (all 503) where there is none.
        """
        self.check_ready()
        self.admission.take_place()
        self._idle.clear()
        try:
            yield AdmittedRequest(arrived, self._deadline_seconds)
        finally:
            self.admission.free_place()
            if self.admission.requests == 0:
                self._idle.set()

    async def score(self, request: AdmittedRequest, computation: Computation) -> RequestResult:
        """Queue what an admitted request has computed, and wait for its result.

        Cancelling it drops the request from the queue, or stops the engine's work on it. Raises
        OverloadedError where the deadline cannot be met, DeadlineError where it passed, and what the engine
        raises: AdapterError, EngineError for any failure it did not foresee.
        """
        if self.lifecycle.state == "failed":
            self.check_ready()
        now = monotonic()
        request.computation = computation
        self.admission.enter(request, now)
        request.answer = asyncio.get_running_loop().create_future()
        self._waiting[computation] = request
        self.engine_thread.submit(computation)
        try:
            async with asyncio.timeout(request.deadline - now):
                return await request.answer
        except TimeoutError:
            raise DeadlineError(
                f"there was no answer within {self._deadline_seconds:g} s",
                retry_after_seconds=round(max(1.0, self.admission.backlog_seconds()), 1),
            ) from None
        finally:
            del self._waiting[computation]
            self.admission.leave(request)
            if not computation.ended:
                self.engine.scheduler.abandon(computation)
            request.score_seconds = computation.clock()
            request.queue_seconds = max(0.0, monotonic() - now - request.score_seconds)

    async def wait_empty(self) -> None:
        """Wait until every admitted request has its answer."""
        await self._idle.wait()

    def give_up(self, make_error: Callable[[], AdapterError]) -> None:
        """Answer everything that still waits with an error, each with one of its own."""
        for request in self._waiting.values():
            request.settle(make_error())

    # What the engine's thread tells.

    def engine_loaded(self, engine: ScoringEngine) -> None:
        """Requests can be taken."""
        self._engine = engine
        self.admission.rate = TokenRate(engine.tokens_per_second)
        self.memory = RequestMemory(engine.request_bytes)
        self.lifecycle.model_loaded(engine.info)

    def engine_load_failed(self, error: StartupError) -> None:
        """None ever can."""
        self.lifecycle.load_failed(error)

    def engine_ended(self, computation: Computation, failure: AdapterError | None) -> None:
        """Answer who waits for `computation`, unless nobody does any more."""
        if computation.result is not None:
            self.admission.rate.learn(computation.cost.spent, computation.busy_seconds)
        outcome = computation.result or failure
        if outcome is not None and (request := self._waiting.get(computation)):
            request.settle(outcome)

    def engine_broke(self, reason: str) -> None:
        """Nothing that waits will be answered any more."""
        self.lifecycle.engine_broke(reason)
        self.give_up(EngineEndedError)
