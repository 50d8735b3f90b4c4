"""The lines of a submission's state: a header, then what happened."""

import json
from collections.abc import Collection
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

SCHEMA = 1


class _Line(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class SubmissionHeader(_Line):
    """The first line: what is asked, of whom, and the name of the job's folder in S3."""

    schema_version: int = SCHEMA
    job: str
    file_sha256: str
    requests: int
    endpoint: str
    account: str
    region: str


_Attempt = Annotated[int, Field(ge=1)]


class _Sending(_Line):
    sending: int
    attempt: _Attempt
    time: float


class _Accepted(_Line):
    accepted: int
    output: str
    failure: str | None
    time: float


class _Again(_Line):
    again: int
    attempt: _Attempt


class _Result(BaseModel):
    """The rest of it is the caller's to read."""

    model_config = ConfigDict(strict=True)

    line: int
    status: str


class _Ended(_Line):
    ended: _Result


BEGINNING = b'{"schema_version":'
"""Of every state, so that a torn beginning is told from a file of somebody else's."""
_RECORDS: TypeAdapter[_Sending | _Accepted | _Again | _Ended] = TypeAdapter(
    _Sending | _Accepted | _Again | _Ended
)


def read_record(line: bytes, numbers: Collection[int]) -> dict[str, Any]:
    """What a line says. Raises ValueError for what is no record, or of a line that the file does not have."""
    record: dict[str, Any] = json.loads(line)
    match _RECORDS.validate_python(record):
        case _Sending(sending=number) | _Accepted(accepted=number) | _Again(again=number):
            pass
        case _Ended(ended=result):
            number = result.line
    if number not in numbers:
        raise ValueError(f"there is no line {number}")
    return record
