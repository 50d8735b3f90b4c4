"""The engine's door as the server sees it, and one request's way through it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from semif_adapter.contract import Layout, ModelInfo, Result, SharedTiming
from semif_adapter.question import Question

Answer = tuple[list[Result], SharedTiming]


class ScoringEngine(Protocol):
    """The engine's door; `semif_adapter.engine.Engine` is the one that serves."""

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

    @property
    def decoded_tokens(self) -> int:
        """How many tokens went through the model so far, of whatever prompt; safe from any thread."""

    def check(self, questions: Sequence[Question], layout: Layout) -> int:
        """Refuse what `score` would refuse; the tokens to compute otherwise. Safe from any thread."""

    def score(self, questions: Sequence[Question], layout: Layout) -> Answer:
        """Answer the questions of one request, in their order; called from the engine's thread only."""

    def prove(self) -> None:
        """Score the warm-up decision again. Raises EngineError where the engine no longer can."""

    def abandon(self) -> None:
        """Make the running `score` raise AbandonedError soon; safe from any thread."""

    def resume(self) -> None:
        """Take `abandon` back; safe from any thread."""

    def close(self) -> None:
        """Free the model."""


@dataclass
class Place:
    """One admitted request: until when it must be answered, and what the log will tell of its way."""

    arrived: float
    deadline: float
    tokens: int = 0
    queue_seconds: float = 0.0
    score_seconds: float = 0.0
