"""What an object in S3 means for the request that it is about, and the file that tells it for each."""

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from semif.project.whole_files import replacing
from semif_adapter.contract.wire import ErrorBody

ANSWERED, FAILED, INVALID = "answered", "failed", "invalid"
"""How a line ends: with a reply; with the error of the container or of SageMaker; never having been sent."""
ENDS = {ANSWERED: "answered", FAILED: "failed", INVALID: "could not be asked"}
"""How a line ends, for people."""
_SHOWN_CHARACTERS = 500


def ends_of(counts: Counter[str]) -> str:
    """How many lines ended in which way: `3 answered, 1 failed`."""
    return ", ".join(f"{counts[status]:,} {said}" for status, said in ENDS.items() if counts[status])


def of_answer(line: int, content: bytes) -> dict[str, Any]:
    """The record of a line whose answer is `content`."""
    try:
        reply = json.loads(content)
    except (ValueError, RecursionError):
        return failed(line, f"the reply is not JSON: {_one_line(content)}")
    return {"line": line, "status": ANSWERED, "reply": reply}


def of_failure(line: int, content: bytes) -> tuple[dict[str, Any], bool]:
    """The record of a line that failed with `content`, and whether the same request may be answered later.

    `content` is the container's error where the container gave one.
    """
    try:
        body = ErrorBody.model_validate_json(content)
    except ValidationError:
        return failed(line, _one_line(content)), False
    error = body.error.model_dump(mode="json", exclude_none=True)
    return {"line": line, "status": FAILED, "error": error}, body.retryable


def failed(line: int, message: str) -> dict[str, Any]:
    """The record of a line that has no answer, and nobody's error but this."""
    return {"line": line, "status": FAILED, "error": {"message": message}}


def invalid(line: int, message: str) -> dict[str, Any]:
    """The record of a line that cannot be asked."""
    return {"line": line, "status": INVALID, "error": {"message": message}}


def record_line(record: dict[str, Any]) -> bytes:
    """A record as a line. Halves of characters, which no UTF-8 holds, become question marks."""
    return json.dumps(record, ensure_ascii=False).encode(errors="replace") + b"\n"


def write_records(records: Iterable[dict[str, Any]], path: Path) -> Counter[str]:
    """Write a line for each record, whole or not at all. Returns how many ended in which way."""
    counts: Counter[str] = Counter()
    with replacing(path) as file:
        for record in records:
            counts[record["status"]] += 1
            file.write(record_line(record))
    return counts


def _one_line(content: bytes) -> str:
    text = " ".join(content[: 4 * _SHOWN_CHARACTERS].decode(errors="replace").split())[:_SHOWN_CHARACTERS]
    return text or "an empty reply"
