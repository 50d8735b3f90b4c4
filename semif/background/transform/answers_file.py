"""The answers to a file: a line of JSON for each of its lines, in its order, the bad beside the good."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from semif.background.line_records import invalid, of_answer, of_failure, write_records
from semif.background.transform.file_transform import FileTransform, problem_of


def write_answers(transform: FileTransform, path: Path) -> Counter[str]:
    """Write the answers to `path`, whole or not at all. Returns how many lines ended in which way.

    The records are those of `semif submit`. All parts must be answered.
    """
    return write_records(_records(transform), path)


def _records(transform: FileTransform) -> Iterator[dict[str, Any]]:
    replies = transform.replies()
    for line in transform.file.lines:
        problem = problem_of(line, transform.target.environment)
        if problem is not None:
            yield invalid(line.number, problem)
        else:
            _, reply = next(replies)
            yield _record(line.number, reply)


def _record(line: int, reply: bytes) -> dict[str, Any]:
    """In a transform container an error object has status 200; its key tells it from every answer."""
    record = of_answer(line, reply)
    document = record.get("reply")
    return of_failure(line, reply)[0] if isinstance(document, dict) and "error" in document else record
