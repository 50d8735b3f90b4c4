"""How long work tells what it is doing, without knowing who listens."""

from typing import Protocol


class Progress(Protocol):
    """Called often during a step; `done` and `total` are bytes, `done == total` ends the step."""

    def __call__(self, step: str, done: int, total: int) -> None:
        """Take note; must be quick and must not raise."""


def silent(step: str, done: int, total: int) -> None:
    """For callers who do not want to hear."""
