"""What is known of a submission, in a file beside its output that only grows: it survives any interruption.

One JSON object a line: a header, then what happened, in order. A line is written before a request is sent,
when it was accepted, and when it has ended. The last line may be torn.
"""

import fcntl
import json
import os
import secrets
import time
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from pydantic import ValidationError

from semif.background.line_records import record_line
from semif.background.queue.submission_records import BEGINNING, SubmissionHeader, read_record
from semif.errors import SemifError


@dataclass(frozen=True)
class Sent:
    """The last time that a line was sent: which time it was, and when, in seconds since the epoch as AWS
    counts them: another run, maybe on another machine, compares."""

    attempt: int
    time: float
    output: str | None = None
    failure: str | None = None
    """Where the answer or the failure will be; both None while it is not known whether it was accepted."""

    @property
    def accepted(self) -> bool:
        """Whether SageMaker has said so."""
        return self.output is not None


class SubmissionState:
    """The file, locked for this process while it is open. Made by `open_state`."""

    def __init__(self, path: Path, header: SubmissionHeader, descriptor: int) -> None:
        self.path = path
        self.header = header
        self.sent: dict[int, Sent] = {}
        """By line number; lines that have ended are not there any more."""
        self.attempts: dict[int, int] = {}
        """By line number: which time it will be sent next, of lines that were sent before in vain."""
        self.ended: dict[int, tuple[int, int]] = {}
        """By line number: where in this file the line's record is, offset and size in bytes."""
        self._descriptor = descriptor

    def sending(self, lines: Iterable[tuple[int, int]], now: float) -> None:
        """Before lines (number, attempt) are sent. On disk when this returns."""
        self._append(
            [{"sending": number, "attempt": attempt, "time": now} for number, attempt in lines], sync=True
        )

    def accepted(self, number: int, output: str, failure: str | None, now: float) -> None:
        """SageMaker has taken a line."""
        self._append([{"accepted": number, "output": output, "failure": failure, "time": now}])

    def send_again(self, number: int, attempt: int) -> None:
        """A line must be sent (again): SageMaker did not take it, or it failed and may not the next time."""
        self._append([{"again": number, "attempt": attempt}])

    def end(self, records: Iterable[dict[str, Any]]) -> None:
        """Lines have ended; each record has `line` and `status`. On disk when this returns."""
        self._append([{"ended": record} for record in records], sync=True)

    def sync(self) -> None:
        """Return when all is on disk. Raises SemifError, as all that writes, where it cannot be."""
        with _named(self.path):
            os.fsync(self._descriptor)

    def results(self, numbers: Iterable[int]) -> Iterator[dict[str, Any]]:
        """The records of ended lines, in the order of `numbers`."""
        for number in numbers:
            offset, size = self.ended[number]
            record: dict[str, Any] = json.loads(os.pread(self._descriptor, size, offset))["ended"]
            yield record

    def close(self) -> None:
        """Close the file, and so free it for others."""
        os.close(self._descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def take_note(self, record: dict[str, Any], offset: int, size: int) -> None:
        """Know what a record of the file says. Raises KeyError where it is of a line that was not sent."""
        if "sending" in record:
            self.sent[record["sending"]] = Sent(record["attempt"], record["time"])
        elif "accepted" in record:
            number = record["accepted"]
            attempt = self.sent[number].attempt
            self.sent[number] = Sent(attempt, record["time"], record["output"], record["failure"])
        elif "again" in record:
            del self.sent[record["again"]]
            self.attempts[record["again"]] = record["attempt"]
        else:
            ended = record["ended"]
            self.sent.pop(ended["line"], None)
            self.ended[ended["line"]] = (offset, size)

    def _append(self, records: list[dict[str, Any]], *, sync: bool = False) -> None:
        if not records:
            return
        offset = os.lseek(self._descriptor, 0, os.SEEK_END)
        texts = [record_line(record) for record in records]
        with _named(self.path):
            _write(self._descriptor, b"".join(texts))
        for record, text in zip(records, texts, strict=True):
            self.take_note(record, offset, len(text))
            offset += len(text)
        if sync:
            self.sync()


def open_state(
    path: Path, *, file_sha256: str, numbers: Collection[int], endpoint: str, account: str, region: str
) -> SubmissionState:
    """The state in `path`, begun where there is none. `numbers` are those of the file's requests.

    Raises SemifError where another command is at it, where it is of another file or endpoint, and where it is
    no state.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        return _opened(
            path,
            descriptor,
            SubmissionHeader(
                job=f"{time.strftime('%Y%m%dT%H%M%S', time.gmtime())}-{secrets.token_hex(4)}",
                file_sha256=file_sha256,
                requests=len(numbers),
                endpoint=endpoint,
                account=account,
                region=region,
            ),
            numbers,
        )
    except BaseException:
        os.close(descriptor)
        raise


def _opened(
    path: Path, descriptor: int, wanted: SubmissionHeader, numbers: Collection[int]
) -> SubmissionState:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise SemifError(f"another command is at work on {path}; wait for its end") from None
    state: SubmissionState | None = None
    offset = 0
    for number, line in enumerate(_lines(descriptor), start=1):
        if not line.endswith(b"\n"):  # torn: it says nothing
            if state is None and not BEGINNING.startswith(line[: len(BEGINNING)]):
                raise _no_state(path)
            os.ftruncate(descriptor, offset)
            break
        if state is None:
            state = SubmissionState(path, _header(path, line, wanted), descriptor)
        else:
            try:
                state.take_note(read_record(line, numbers), offset, len(line))
            except (ValueError, KeyError):
                raise SemifError(
                    f"{path}: line {number} is no record of a submission; the file was changed, move it away"
                ) from None
        offset += len(line)
    if state is None:
        with _named(path):
            _write(descriptor, wanted.model_dump_json().encode() + b"\n")
            os.fsync(descriptor)
        state = SubmissionState(path, wanted, descriptor)
    return state


def _lines(descriptor: int) -> Iterator[bytes]:
    with os.fdopen(os.dup(descriptor), "rb") as file:
        file.seek(0)
        yield from file


def _header(path: Path, line: bytes, wanted: SubmissionHeader) -> SubmissionHeader:
    try:
        header = SubmissionHeader.model_validate_json(line)
    except ValidationError:
        raise _no_state(path) from None
    different = [
        name.replace("_", " ")
        for name in ("schema_version", "file_sha256", "endpoint", "account", "region")
        if getattr(header, name) != getattr(wanted, name)
    ]
    if different:
        raise SemifError(
            f"{path} is of another submission ({', '.join(different)} differ): go on with what it is of, or "
            "choose another --output"
        )
    return header


def _no_state(path: Path) -> SemifError:
    return SemifError(f"{path} is not the state of a submission; move it away, or choose --output")


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """Say which file cannot be written: its disk may be full."""
    try:
        yield
    except OSError as error:
        raise SemifError(
            f"cannot write {path}: {(error.strerror or str(error)).lower()}; what it holds is good, and the "
            "same command goes on with it"
        ) from error


def _write(descriptor: int, content: bytes) -> None:
    while content:
        content = content[os.write(descriptor, content) :]
