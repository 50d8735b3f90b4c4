"""The log: one JSON object a line on standard error, never with a caller's text."""

import json
import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from time import monotonic
from uuid import uuid4

from semif_adapter.serving.line_writer import STANDARD_ERROR

requests = logging.getLogger("semif_adapter.requests")

REQUEST_ID = "x-request-id"
INFERENCE_ID = "x-amzn-sagemaker-inference-id"
CUSTOM_ATTRIBUTES = "x-amzn-sagemaker-custom-attributes"
TRACE_ID = "x-amzn-trace-id"
LONGEST_ID = {REQUEST_ID: 128, INFERENCE_ID: 64, CUSTOM_ATTRIBUTES: 1024, TRACE_ID: 256}
"""Identifying headers that are taken over, and their longest values; SageMaker's limits where it has one
(InvokeEndpoint in the SageMaker Runtime API reference)."""
VISIBLE_ASCII = re.compile(r"[\x20-\x7e]+")


@dataclass
class RequestRecord:
    """What the log and the metrics will tell about one request; filled in on its way."""

    method: str
    path: str
    ids: Mapping[str, str]
    """By header name, the request's own id always among them."""
    arrived: float = field(default_factory=monotonic)
    status: int = 0
    code: str | None = None
    """Of the error, if the reply is one."""
    body_bytes: int = 0
    decisions: int = 0
    options: int = 0
    input_tokens: int = 0
    cached_tokens: int = 0
    prefill_tokens: int = 0
    suffix_tokens: int = 0
    queue_seconds: float | None = None
    """None: it never was in the queue."""
    score_seconds: float = 0.0
    masses: list[float] = field(default_factory=list)

    @property
    def answered(self) -> bool:
        """Whether it got what it asked for; in a transform job a refusal has status 200 as well."""
        return self.status == 200 and self.code is None

    @classmethod
    def begin(cls, method: str, path: str, headers: Mapping[str, str]) -> "RequestRecord":
        """A request as it arrives. Ids that are too long or hold more than visible ASCII are left out."""
        ids = {
            name: value
            for name, longest in LONGEST_ID.items()
            if (value := headers.get(name, "").strip())
            and len(value) <= longest
            and VISIBLE_ASCII.fullmatch(value)
        }
        ids.setdefault(REQUEST_ID, uuid4().hex)
        return cls(method, path, ids)

    def write(self) -> None:
        """Log the request, once it is over."""
        fields: dict[str, object] = {
            "method": self.method,
            "path": self.path,
            "status": self.status,
            "code": self.code,
            "request_id": self.ids.get(REQUEST_ID),
            "inference_id": self.ids.get(INFERENCE_ID),
            "custom_attributes": self.ids.get(CUSTOM_ATTRIBUTES),
            "trace_id": self.ids.get(TRACE_ID),
            "body_bytes": self.body_bytes,
            "total_seconds": round(monotonic() - self.arrived, 6),
        }
        if self.decisions:
            fields |= {"decisions": self.decisions, "options": self.options}
        if self.queue_seconds is not None:
            fields |= {
                "queue_seconds": round(self.queue_seconds, 6),
                "score_seconds": round(self.score_seconds, 6),
            }
        if self.input_tokens:
            fields |= {
                "input_tokens": self.input_tokens,
                "cached_tokens": self.cached_tokens,
                "prefill_tokens": self.prefill_tokens,
                "suffix_tokens": self.suffix_tokens,
            }
        if self.masses and self.answered:
            fields["allowed_token_mass"] = [round(mass, 6) for mass in self.masses]
        known = {name: value for name, value in fields.items() if value is not None}
        requests.info("request", extra={"fields": known})


class JsonLines(logging.Formatter):
    """One JSON object a line; a record's `fields` become members of it."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        line |= getattr(record, "fields", {})
        if record.exc_info and record.exc_info[0] is not None:
            line["exception"] = record.exc_info[0].__name__  # its message may hold the caller's text
        return json.dumps(line, default=str, separators=(",", ":"))


class _ToStandardError(logging.Handler):
    """The log's way out, which nobody waits for."""

    def emit(self, record: logging.LogRecord) -> None:
        try:
            STANDARD_ERROR.write(self.format(record))
        except Exception:  # noqa: BLE001 - as the library's handlers do: a line must not cost a request
            self.handleError(record)


def configure(level: str) -> None:
    """Log lines of `level` and above to standard error, as JSON."""
    handler = _ToStandardError()
    handler.setFormatter(JsonLines())
    logging.raiseExceptions = False  # a log that cannot be written must not become a traceback
    logging.basicConfig(level=level, handlers=[handler], force=True)
    logging.getLogger("uvicorn").setLevel(logging.ERROR)  # a warning for each malformed request is too many
    logging.getLogger("asyncio").setLevel(logging.ERROR)


RECORD = "semif_adapter.record"
"""Where the scope keeps the request's record."""
