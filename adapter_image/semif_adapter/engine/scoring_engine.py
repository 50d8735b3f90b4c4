"""The engine's door as the server sees it."""

from collections.abc import Callable, Sequence
from typing import Protocol

from semif_adapter.contract.question import Question
from semif_adapter.contract.wire import Layout, ModelInfo
from semif_adapter.engine.computation import Computation
from semif_adapter.engine.scheduler import Scheduler


class ScoringEngine(Protocol):
    """The engine's door; `Engine` (`engine.py`) is the one that serves. One thread only, but where it says
    otherwise."""

    @property
    def info(self) -> ModelInfo:
        """What is loaded."""

    @property
    def tokens_per_second(self) -> float:
        """How fast the warm-up decision was."""

    @property
    def step_tokens(self) -> int:
        """Most tokens of one forward pass, the engine's longest step."""

    @property
    def slowest_step_seconds(self) -> float:
        """How long the slowest forward pass took lately; safe from any thread."""

    @property
    def moved_at(self) -> float:
        """When the last forward pass ended, as `time.monotonic()` counts; safe from any thread."""

    @property
    def request_bytes(self) -> int:
        """How much memory requests may have together while they are read, checked and computed."""

    @property
    def longest_text_bytes(self) -> int:
        """Of the longest text that is tokenised: longer ones have too many tokens."""

    @property
    def scheduler(self) -> Scheduler:
        """Runs the forward passes of what was begun."""

    def prepare(
        self, questions: Sequence[Question], layout: Layout, go_on: Callable[[], None] = lambda: None
    ) -> Computation:
        """Make the questions of one request ready to be asked. Safe from any thread. Raises AdapterError.

        `go_on` is called before each of them, and ends this by what it raises.
        """

    def begin(self, computation: Computation) -> None:
        """Give a request its place among those that the scheduler works on."""

    def prove(self) -> None:
        """Score the warm-up decision again. Raises EngineError where the engine no longer can."""

    def close(self) -> None:
        """Free the model."""
