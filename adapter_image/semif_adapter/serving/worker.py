"""One thread owns the engine; requests wait for it in a bounded queue.

What is not said to run elsewhere runs on the event loop's thread, so the counters need no lock. The engine is
loaded, asked and closed on its own thread only: a libllama context must not be touched from two. The one lock
guards the moment at which the engine gets to know of a job, so that none is forgotten that is given up then.
"""

import asyncio
import logging
import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from time import monotonic
from typing import Literal, TypeVarTuple, Unpack

from semif_adapter.contract.errors import (
    AdapterError,
    DeadlineError,
    DrainingError,
    EngineError,
    LoadingError,
    StalledError,
    StartupError,
)
from semif_adapter.contract.question import Question
from semif_adapter.contract.settings import Settings
from semif_adapter.contract.wire import Layout, ModelInfo
from semif_adapter.engine.scheduler import Run
from semif_adapter.engine.scoring_engine import Answer, Prepared, ScoringEngine
from semif_adapter.serving.admission import Admission, Claim, TokenRate

logger = logging.getLogger(__name__)

LOADING_RETRY_SECONDS = 10.0
DRAINING_RETRY_SECONDS = 1.0
"""Another instance answers a retry: the load balancer stops sending here as soon as `/ping` fails."""
CLOSE_SECONDS = 1.0
SHORTEST_STALL_SECONDS = 30.0
STALL_FACTOR = 4.0
"""How much longer than the token rate says a step may take before the engine counts as stalled."""

State = Literal["loading", "ready", "stalled", "failed", "draining"]
Arguments = TypeVarTuple("Arguments")


@dataclass(eq=False)
class _Job:
    prepared: Prepared
    claim: Claim
    answer: "asyncio.Future[Answer]"
    run: Run[Answer] | None = None
    """None: the engine does not know of it yet."""
    abandoned: bool = False


@dataclass
class Place:
    """One admitted request: until when it must be answered, and what the log will tell of its way."""

    arrived: float
    deadline: float
    tokens: int = 0
    queue_seconds: float = 0.0
    score_seconds: float = 0.0


class Worker:
    """Admits requests up to the limits and hands them to the engine's thread, which serves them by turns."""

    def __init__(self, load: Callable[[], ScoringEngine], settings: Settings) -> None:
        self.state: State = "loading"
        self.admission = Admission(
            max_requests=settings.max_in_flight,
            max_tokens=settings.max_queued_tokens,
            turn_tokens=settings.turn_tokens,
        )
        self.speed = TokenRate(1.0)
        """Tokens per second that go through the model. `admission.rate` counts a request's tokens whether the
        engine computes them or has them cached, and so learns what this server's requests take."""
        self._load = load
        self._deadline_seconds = settings.deadline_seconds
        self._stall_seconds = settings.stall_seconds
        self._engine: ScoringEngine | None = None
        self._loaded = asyncio.Event()
        self._load_error: StartupError | None = None
        self._broken = asyncio.Event()
        self._draining = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self._waiting: set[_Job] = set()
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._busy_since: float | None = None
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

    async def wait_broken(self) -> None:
        """Wait until the engine can answer nothing any more."""
        await self._broken.wait()

    @property
    def info(self) -> ModelInfo:
        """What is loaded. Raises as `check_ready` does."""
        self.check_ready()
        assert self._engine is not None
        return self._engine.info

    def check_ready(self) -> None:
        """Raise LoadingError, StalledError or DrainingError (all 503) unless requests are taken."""
        self._watch()
        match self.state:
            case "ready":
                return
            case "draining":
                raise DrainingError("the server is stopping", retry_after_seconds=DRAINING_RETRY_SECONDS)
            case "stalled":
                raise StalledError(
                    "the engine has not moved for too long", retry_after_seconds=LOADING_RETRY_SECONDS
                )
            case "failed":
                raise DrainingError(
                    "the engine failed, the server is ending", retry_after_seconds=DRAINING_RETRY_SECONDS
                )
            case _:
                raise LoadingError("the model is not loaded yet", retry_after_seconds=LOADING_RETRY_SECONDS)

    @contextmanager
    def admit(self) -> Iterator[Place]:
        """Hold one of the `max_in_flight` places while the request is read, queued and scored.

        Raises LoadingError, StalledError, DrainingError or OverloadedError (all 503) where there is none.
        """
        self.check_ready()
        now = monotonic()
        self.admission.take_place()
        self._idle.clear()
        try:
            yield Place(now, now + self._deadline_seconds)
        finally:
            self.admission.free_place()
            if self.admission.requests == 0:
                self._idle.set()

    def prepare(self, questions: Sequence[Question], layout: Layout) -> Prepared:
        """Write and tokenise the prompts, and refuse what the engine would refuse.

        May run on any thread. Raises AdapterError.
        """
        assert self._engine is not None  # admitted: the model is loaded
        return self._engine.prepare(questions, layout)

    async def score(self, prepared: Prepared, place: Place) -> Answer:
        """Queue the questions of one admitted request and wait for their answer.

        Cancelling it drops the request from the queue, or stops the engine's work on it. Raises
        OverloadedError where the deadline cannot be met, DeadlineError where it passed, and what the engine
        raises: AdapterError, EngineError for any failure it did not foresee.
        """
        if self.state == "failed":
            self.check_ready()
        now = monotonic()
        place.tokens = prepared.tokens
        claim = self.admission.enter(prepared.tokens, place.deadline, now)
        job = _Job(prepared, claim, self._loop.create_future())
        self._waiting.add(job)
        self._jobs.put(job)
        try:
            async with asyncio.timeout(place.deadline - now):
                return await job.answer
        except TimeoutError:
            raise DeadlineError(
                f"there was no answer within {self._deadline_seconds:g} s",
                retry_after_seconds=round(max(1.0, self.admission.backlog_seconds()), 1),
            ) from None
        finally:
            self._waiting.discard(job)
            self.admission.leave(claim)
            self._abandon(job)
            place.score_seconds = job.run.clock() if job.run is not None else 0.0
            place.queue_seconds = max(0.0, monotonic() - now - place.score_seconds)

    def _abandon(self, job: _Job) -> None:
        """Nobody waits for `job` any more; does nothing where the engine is done with it."""
        with self._lock:
            job.abandoned = True
        if job.run is not None and not job.run.ended:
            assert self._engine is not None
            self._engine.abandon(job.run)

    def drain(self) -> None:
        """Admit nothing from now on."""
        self._enter("draining")
        self._draining.set()

    async def wait_draining(self) -> None:
        """Wait until nothing is admitted any more."""
        await self._draining.wait()

    async def drained(self) -> None:
        """Wait until every admitted request has its answer."""
        await self._idle.wait()

    def give_up(self, error: AdapterError) -> None:
        """Answer everything that still waits with `error`."""
        for job in self._waiting:
            if not job.answer.done():
                job.answer.set_exception(error)

    async def close(self) -> None:
        """Let the engine's thread finish its queue and free the model.

        Waits CLOSE_SECONDS for it and no longer: a load cannot be interrupted.
        """
        self._jobs.put(None)
        await asyncio.to_thread(self._thread.join, CLOSE_SECONDS)

    @property
    def stall_seconds(self) -> float:
        """How long the engine may go without a step before it counts as stalled."""
        if self._stall_seconds is not None:
            return self._stall_seconds
        if self._engine is None:
            return SHORTEST_STALL_SECONDS
        step = self._engine.step_tokens / self.speed.tokens_per_second
        return max(SHORTEST_STALL_SECONDS, STALL_FACTOR * step)

    def _watch(self) -> None:
        """Notice that the engine stands still, or that it moves again."""
        busy_since = self._busy_since
        if self._engine is None or self.state not in ("ready", "stalled"):
            return
        still = 0.0 if busy_since is None else monotonic() - max(busy_since, self._engine.moved_at)
        self._enter("stalled" if still > self.stall_seconds else "ready")

    def _enter(self, state: State) -> None:
        # A stop that arrives while the model loads is not undone by the load's success.
        if self.state in ("failed", state) or (self.state == "draining" and state != "failed"):
            return
        self.state = state
        # What is ready: the build, the devices, the layers on GPUs and what the self-test found.
        fields = {"model": self._engine.info.model_dump()} if state == "ready" and self._engine else {}
        logger.info("state: %s", state, extra={"fields": fields})

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
        try:
            self._work(engine)
        except BaseException as error:  # noqa: BLE001 - a thread that ends must end the process too
            self._report(self._break, type(error).__name__)
        else:
            engine.close()

    def _work(self, engine: ScoringEngine) -> None:
        """Take jobs and run forward passes for them by turns, until told to end and all are done."""
        jobs: dict[Run[Answer], _Job] = {}
        taking = True
        while taking or jobs:
            while taking and (not jobs or not self._jobs.empty()):
                job = self._jobs.get()
                taking = job is not None
                if job is not None and (run := self._begin(engine, job)) is not None:
                    jobs[run] = job
            if not jobs:
                break
            for run in engine.advance():
                self._end(engine, jobs.pop(run), run)
            if not jobs:
                self._busy_since = None

    def _begin(self, engine: ScoringEngine, job: _Job) -> Run[Answer] | None:
        """Hand `job` to the engine, unless nobody waits for it any more."""
        with self._lock:
            if job.abandoned:
                return None
            job.run = job.claim.progress = engine.begin(job.prepared)
        self._busy_since = self._busy_since or monotonic()
        return job.run

    def _end(self, engine: ScoringEngine, job: _Job, run: Run[Answer]) -> None:
        failure = run.failure
        if failure is not None and not isinstance(failure, AdapterError):
            # Only the type: the message of an unforeseen error may hold the caller's text.
            logger.error("engine fault: %s", type(failure).__name__)
            failure = EngineError(f"the engine failed with {type(failure).__name__}")
        self._report(self._finish, job, run, failure)
        if isinstance(failure, EngineError):
            # One request's fault, or the engine's end? The warm-up decision tells.
            engine.prove()

    def _report(self, callback: Callable[[Unpack[Arguments]], None], *arguments: *Arguments) -> None:
        # A loop that is closed has nobody waiting: the server gave up on this thread.
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(callback, *arguments)

    # Back on the event loop's thread. A future may be done while the engine works on its job.

    def _load_done(self, engine: ScoringEngine) -> None:
        info = engine.info
        self._engine = engine
        self.admission.rate, self.speed = (TokenRate(engine.tokens_per_second) for _ in range(2))
        logger.info(
            "model: %s, %s, sha256 %s, llama.cpp %s", info.name, info.file, info.sha256, info.llama_cpp_build
        )
        self._enter("ready")
        self._loaded.set()

    def _load_failed(self, error: StartupError) -> None:
        self._load_error = error
        self._enter("failed")
        self._loaded.set()

    def _finish(self, job: _Job, run: Run[Answer], failure: AdapterError | None) -> None:
        if run.result is not None:
            self.admission.rate.learn(job.prepared.tokens, run.busy_seconds)
            self.speed.learn(run.decoded_tokens, run.busy_seconds)
        if job.answer.done():
            return
        if run.result is not None:
            job.answer.set_result(run.result)
        elif failure is not None:
            job.answer.set_exception(failure)

    def _break(self, reason: str) -> None:
        logger.error("engine dead: %s", reason)
        self._enter("failed")
        self.give_up(EngineError("the engine failed, the server is ending"))
        self._broken.set()
