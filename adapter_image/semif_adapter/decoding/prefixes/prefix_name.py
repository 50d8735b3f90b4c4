"""Names for prefixes of prompts, and which of them are wanted again."""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from semif_adapter.llama.model import Tokens

Path = tuple[bytes, ...]
"""A prefix by its segments' tokens, so that two are the same only where all their tokens are."""


_TOKEN_BYTES = 4


def path_of(segments: Sequence[Tokens]) -> Path:
    """The segments' path; empty ones are nothing."""
    return tuple(segment.tobytes() for segment in segments if len(segment))


def common_depth(first: Path, second: Path) -> int:
    """How many leading segments are the same."""
    count = 0
    for one, other in zip(first, second, strict=False):
        if one != other:
            break
        count += 1
    return count


def count_tokens(path: Path) -> int:
    """Tokens of all its segments."""
    return sum(map(len, path)) // _TOKEN_BYTES


class Kept:
    """What requests at work will come back to."""

    def __init__(self) -> None:
        self._counts: Counter[Path] = Counter()

    def __contains__(self, path: Path) -> bool:
        return path in self._counts

    def __iter__(self) -> Iterator[Path]:
        return iter(self._counts)

    @contextmanager
    def keeping(self, segments: Sequence[Tokens]) -> Iterator[None]:
        """Hold `segments` meanwhile."""
        path = path_of(segments)
        self._counts[path] += 1
        try:
            yield
        finally:
            self._counts -= Counter((path,))
