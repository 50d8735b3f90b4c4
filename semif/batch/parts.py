"""A file's lines in parts: objects in S3, each answered or not as a whole.

Batch Transform gives an object to one instance, and uploads nothing of one that it could not finish: parts
let several instances work, show progress, and bound what a failed job loses.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from semif.request_lines import RequestLine

LINES_PER_PART = 250
MAX_PARTS = 1000
"""Of one file; larger files have longer parts."""


@dataclass(frozen=True)
class Part:
    """Some consecutive lines of a file, without those that cannot be asked."""

    name: str
    """Of its object; the same for the same file, whoever cuts it."""
    lines: Sequence[RequestLine]


def cut(lines: Sequence[RequestLine]) -> list[Part]:
    """The parts of a file that `lines` are asked of, in order."""
    size = max(LINES_PER_PART, -(-len(lines) // MAX_PARTS))
    return [
        Part(f"part-{number:05}.jsonl", some) for number, some in enumerate(_slices(lines, size), start=1)
    ]


def _slices(lines: Sequence[RequestLine], size: int) -> Iterator[Sequence[RequestLine]]:
    for begin in range(0, len(lines), size):
        yield lines[begin : begin + size]
