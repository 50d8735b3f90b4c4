"""Waiting for what a test has set going, and never for ever."""

import time
from collections.abc import Callable
from typing import TypeVar

Seen = TypeVar("Seen")
LONGEST_SECONDS = 120.0
"""What takes a second here may take many on a busy machine."""


def eventually(
    look: Callable[[], Seen],
    until: Callable[[Seen], object] = bool,
    *,
    pause_seconds: float = 0.01,
    seconds: float = LONGEST_SECONDS,
) -> Seen:
    """What `look` returns, as soon as `until` holds of it; fails after `seconds` with what was last seen."""
    end = time.monotonic() + seconds
    while not until(seen := look()):
        assert time.monotonic() < end, f"not within {seconds:g} seconds; last seen: {seen!r}"
        time.sleep(pause_seconds)
    return seen
