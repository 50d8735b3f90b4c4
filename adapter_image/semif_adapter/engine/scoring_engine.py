"""The engine's door as the server sees it, and one request's way through it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from semif_adapter.contract.question import Question
from semif_adapter.contract.wire import Layout, ModelInfo, Result, SharedTiming
from semif_adapter.engine.question_writer import WrittenQuestion
from semif_adapter.engine.scheduler import Run

Answer = tuple[list[Result], SharedTiming]


@dataclass(frozen=True)
class Prepared:
    """The questions of one request, written and tokenised."""

    layout: Layout
    groups: Sequence[Sequence[WrittenQuestion]]
    tokens: int
    """How many the engine computes at most: with nothing in its caches."""


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
    def moved_at(self) -> float:
        """When the last forward pass ended, as `time.monotonic()` counts; safe from any thread."""

    def prepare(self, questions: Sequence[Question], layout: Layout) -> Prepared:
        """Make the questions of one request ready to be asked. Safe from any thread. Raises AdapterError."""

    def begin(self, prepared: Prepared) -> Run[Answer]:
        """Give a request its place among those that `advance` works on."""

    def advance(self) -> Sequence[Run[Answer]]:
        """Run one forward pass for whose turn it is; the requests that ended."""

    def prove(self) -> None:
        """Score the warm-up decision again. Raises EngineError where the engine no longer can."""

    def abandon(self, run: Run[Answer]) -> None:
        """Make `run` fail with AbandonedError soon; safe from any thread."""

    def close(self) -> None:
        """Free the model."""
