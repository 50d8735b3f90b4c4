"""JSON Lines of requests: which lines a file has, and which of them cannot be asked.

A file may be larger than memory: lines are read when they are needed. Lines of blanks alone are no requests.
"""

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Self

from semif.client.request import read_request
from semif.environment.kinds import KINDS
from semif.errors import SemifError
from semif.project.whole_files import open_file
from semif_adapter.contract.wire import MAX_BODY_BYTES

MAX_LINES = 1_000_000
"""Of one file, so that a line's number has at most eight digits."""


@dataclass(frozen=True)
class RequestLine:
    """One line: its number in the file, counted from 1, where it is, and what keeps it from being asked."""

    number: int
    offset: int
    size: int
    """Both in bytes."""
    problem: str | None


class RequestFile:
    """A file of requests, opened for reading. `sha256` is of the whole file."""

    def __init__(self, path: Path, kind: str) -> None:
        """Read it once. Raises SemifError where it cannot be read, or holds no request at all."""
        self.path = path
        self._kind = kind
        self.lines: list[RequestLine] = []
        self._file: BinaryIO = open_file(path)
        try:
            self.sha256 = self._read()
            self._seen = self._look()
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def _read(self) -> str:
        """Find the lines; the SHA-256 of the whole file."""
        digest = hashlib.sha256()
        offset = 0
        for number, (text, size) in enumerate(self._raw_lines(digest), start=1):
            if number > MAX_LINES:
                raise SemifError(f"{self.path} has more than {MAX_LINES:,} lines; split it")
            if text.strip():
                self.lines.append(RequestLine(number, offset, size, self._problem(number, text, size)))
            offset += size
        if not self.lines:
            raise SemifError(f"{self.path} holds no requests; write one JSON object a line")
        return digest.hexdigest()

    def body(self, line: RequestLine) -> bytes:
        """The request that a line without a problem stands for. Raises SemifError if the file changed."""
        if self._look() != self._seen:
            raise SemifError(f"{self.path} was changed while it was asked; put back what it held")
        self._file.seek(line.offset)
        return _body(self._file.read(line.size), line.number, self._kind)

    def _look(self) -> tuple[int, int]:
        status = os.fstat(self._file.fileno())
        return status.st_size, status.st_mtime_ns

    def _raw_lines(self, digest: "hashlib._Hash") -> Iterator[tuple[bytes, int]]:
        """The beginning of each line, as far as a request may go, and the size of the whole."""
        while text := self._file.readline(MAX_BODY_BYTES + 1):
            digest.update(text)
            size, end = len(text), text
            while not end.endswith(b"\n") and (end := self._file.readline(MAX_BODY_BYTES)):
                digest.update(end)
                size += len(end)
            yield text, size

    def _problem(self, number: int, text: bytes, size: int) -> str | None:
        if size > MAX_BODY_BYTES:  # before it is parsed
            return f"line {number} is {size} bytes, at most {MAX_BODY_BYTES} are sent; shorten it"
        try:
            _body(text, number, self._kind)
        except SemifError as error:
            return str(error)
        return None


def _body(text: bytes, number: int, kind: str) -> bytes:
    """The request of a line. Raises SemifError, which names the line."""
    name = f"line {number}"
    body, document = read_request(text.strip(), name=name)
    if problem := KINDS[kind].request_problem(document):
        raise SemifError(f"{name} {problem}")
    return body
