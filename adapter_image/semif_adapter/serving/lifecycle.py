"""What the server is doing, from loading its model to its end, and whether it takes requests meanwhile.

On the event loop's thread.
"""

import asyncio
import logging
from typing import Literal

from semif_adapter.contract.errors import DrainingError, LoadingError, StalledError, StartupError
from semif_adapter.contract.wire import ModelInfo

logger = logging.getLogger(__name__)

LOADING_RETRY_SECONDS = 10.0
DRAINING_RETRY_SECONDS = 1.0
"""Another instance answers a retry: the load balancer stops sending here as soon as `/ping` fails."""

LifecycleState = Literal["loading", "ready", "stalled", "failed", "draining"]


class Lifecycle:
    """The server's state, and what others wait for in it."""

    def __init__(self) -> None:
        self.state: LifecycleState = "loading"
        self._model: ModelInfo | None = None
        self._load_error: StartupError | None = None
        self._loaded = asyncio.Event()
        self._broken = asyncio.Event()
        self._draining = asyncio.Event()

    def check_ready(self) -> None:
        """Raise LoadingError, StalledError or DrainingError (all 503) unless requests are taken."""
        match self.state:
            case "ready":
                return
            case "draining":
                raise DrainingError("the server is stopping", retry_after_seconds=DRAINING_RETRY_SECONDS)
            case "stalled":
                raise StalledError(
                    "the engine or a check has not moved for too long",
                    retry_after_seconds=LOADING_RETRY_SECONDS,
                )
            case "failed":
                raise DrainingError(
                    "the engine failed, the server is ending", retry_after_seconds=DRAINING_RETRY_SECONDS
                )
            case _:
                raise LoadingError("the model is not loaded yet", retry_after_seconds=LOADING_RETRY_SECONDS)

    async def wait_loaded(self) -> None:
        """Wait until the model is ready. Raises StartupError if it cannot be."""
        await self._loaded.wait()
        if self._load_error is not None:
            raise self._load_error

    async def wait_broken(self) -> None:
        """Wait until the engine can answer nothing any more."""
        await self._broken.wait()

    async def wait_draining(self) -> None:
        """Wait until nothing is admitted any more."""
        await self._draining.wait()

    def model_loaded(self, info: ModelInfo) -> None:
        """The engine can be asked."""
        self._model = info
        logger.info(
            "model: %s, %s, sha256 %s, llama.cpp %s", info.name, info.file, info.sha256, info.llama_cpp_build
        )
        self._enter("ready")
        self._loaded.set()

    def load_failed(self, error: StartupError) -> None:
        """There will be no engine."""
        self._load_error = error
        self._enter("failed")
        self._loaded.set()

    def engine_moves(self, *, moves: bool) -> None:
        """Whether engine and checkers get on with what they have; told whenever somebody asks."""
        if self.state in ("ready", "stalled"):
            self._enter("ready" if moves else "stalled")

    def engine_broke(self, reason: str) -> None:
        """The engine can answer nothing any more; `reason` is for the log."""
        logger.error("engine dead: %s", reason)
        self._enter("failed")
        self._broken.set()

    def drain(self) -> None:
        """Admit nothing from now on."""
        self._enter("draining")
        self._draining.set()

    def _enter(self, state: LifecycleState) -> None:
        # A stop that arrives while the model loads is not undone by the load's success.
        if self.state in ("failed", state) or (self.state == "draining" and state != "failed"):
            return
        self.state = state
        # What is ready: the build, the devices, the layers on GPUs and what the self-test showed.
        fields = {"model": self._model.model_dump()} if state == "ready" and self._model else {}
        logger.info("state: %s", state, extra={"fields": fields})
