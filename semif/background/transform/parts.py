"""A file's lines in parts: objects in S3, each answered or not as a whole.

Batch Transform gives an object to one instance, and uploads nothing of one that it could not finish: parts
let several instances work, show progress, and bound what a failed job loses.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from semif.background.request_file import RequestLine

LINES_PER_PART = 250
MAX_PARTS = 1000
"""Of one file with lines of usual size; files of more lines have longer parts."""
PART_BYTES = 64_000_000
"""A part is made in memory; long lines make it shorter."""


@dataclass(frozen=True)
class FilePart:
    """Some consecutive lines of a file, without those that cannot be asked."""

    name: str
    """Of its object; the same for the same file, whoever cuts it."""
    lines: Sequence[RequestLine]


def cut(lines: Sequence[RequestLine]) -> list[FilePart]:
    """The parts of a file that `lines` are asked of, in order."""
    most = max(LINES_PER_PART, -(-len(lines) // MAX_PARTS))
    return [
        FilePart(f"part-{number:06}.jsonl", some) for number, some in enumerate(_slices(lines, most), start=1)
    ]


def _slices(lines: Sequence[RequestLine], most: int) -> Iterator[Sequence[RequestLine]]:
    begin = size = 0
    for index, line in enumerate(lines):
        if index - begin == most or (index > begin and size + line.size > PART_BYTES):
            yield lines[begin:index]
            begin, size = index, 0
        size += line.size
    if lines:
        yield lines[begin:]
