"""A line of SageMaker's captured data: one request, the reply to it, and when.

The form is that of "Capture data from real-time endpoint" in SageMaker's developer guide and of published
examples (read 2026-11-30, not seen): `captureData` with `endpointInput` and `endpointOutput`, each with its
`data` as text (`encoding` JSON or CSV) or in base64 (BASE64), and `eventMetadata` with `eventId`,
`inferenceTime` and, where the caller gave one, `inferenceId`.
"""

import base64
import binascii
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, StringConstraints, ValidationError

from semif_adapter.contract.wire import MAX_BODY_BYTES, NOT_BLANK

MAX_LINE_BYTES = 4 * MAX_BODY_BYTES
"""A request and a reply, both as long as they may be, in base64, and something around them."""

_Id = Annotated[str, StringConstraints(max_length=128, pattern=NOT_BLANK)]


class LeftOutError(Exception):
    """Something captured is no task; says why, without a word of it."""


@dataclass(frozen=True)
class Exchange:
    """One captured request."""

    id: str
    """The caller's inference id, else the event's."""
    event: str
    """Unique."""
    time: datetime
    request: bytes
    reply: bytes | None
    """None where replies were not captured."""


class _Side(BaseModel):
    data: str
    encoding: Literal["JSON", "CSV", "BASE64"]

    def content(self) -> bytes:
        if self.encoding != "BASE64":
            return self.data.encode()
        return base64.b64decode(self.data, validate=True)


class _Sides(BaseModel):
    endpointInput: _Side  # noqa: N815 - SageMaker's name, as the others
    endpointOutput: _Side | None = None  # noqa: N815


class _Metadata(BaseModel):
    eventId: _Id  # noqa: N815
    inferenceId: _Id | None = None  # noqa: N815
    inferenceTime: datetime  # noqa: N815


class _Line(BaseModel):
    captureData: _Sides  # noqa: N815
    eventMetadata: _Metadata  # noqa: N815


def read_exchange(line: bytes) -> Exchange:
    """The exchange in a line, without its end. Raises LeftOutError."""
    if len(line) > MAX_LINE_BYTES:
        raise LeftOutError("a line that is longer than a request and a reply can be")
    try:
        read = _Line.model_validate_json(line)
        request, output = read.captureData.endpointInput.content(), read.captureData.endpointOutput
        reply = output.content() if output is not None else None
    except (ValidationError, binascii.Error, UnicodeEncodeError):
        raise LeftOutError("a line that is not SageMaker's captured data") from None
    told = read.eventMetadata
    return Exchange(told.inferenceId or told.eventId, told.eventId, told.inferenceTime, request, reply)
