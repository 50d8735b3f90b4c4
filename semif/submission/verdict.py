"""What an object in S3 means for the request that it is about."""

import json
from typing import Any

from pydantic import ValidationError

from semif_adapter.contract import ErrorBody

ANSWERED, FAILED, INVALID = "answered", "failed", "invalid"
"""How a line ends: with a reply; with the error of the container or of SageMaker; never having been sent."""
_SHOWN_CHARACTERS = 500


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
        told = ErrorBody.model_validate_json(content)
    except ValidationError:
        return failed(line, _one_line(content)), False
    error = told.error.model_dump(mode="json", exclude_none=True)
    return {"line": line, "status": FAILED, "error": error}, told.retryable


def failed(line: int, message: str) -> dict[str, Any]:
    """The record of a line that has no answer, and nobody's error but this."""
    return {"line": line, "status": FAILED, "error": {"message": message}}


def invalid(line: int, message: str) -> dict[str, Any]:
    """The record of a line that cannot be asked."""
    return {"line": line, "status": INVALID, "error": {"message": message}}


def _one_line(content: bytes) -> str:
    text = " ".join(content[: 4 * _SHOWN_CHARACTERS].decode(errors="replace").split())[:_SHOWN_CHARACTERS]
    return text or "an empty reply"
