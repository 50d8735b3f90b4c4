"""Writing a run file: each answer as it comes, and going on where a run was stopped."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from semif.errors import ProblemsError, SemifError
from semif.evaluation.run_file import Header, Record, Run, header_line, read_run, record_line

_BEGINNING = len('{"schema":')
"""A file without a whole line is taken for a header cut off if it begins as one."""


class RunWriter:
    """A run file that is being written. Use `open_run`."""

    def __init__(self, file: BinaryIO, earlier: tuple[Record, ...]) -> None:
        self._file = file
        self.earlier = earlier
        """The answers that the file had before."""

    def append(self, record: Record) -> None:
        """Write an answer, so that it is there if the process ends now."""
        self._file.write(record_line(record).encode())
        self._file.flush()


@contextmanager
def open_run(path: Path, header: Header) -> Iterator[RunWriter]:
    """The run file at `path`: a new one with `header`, or the one that is there, to go on with.

    A last line that was cut off is taken away. Raises SemifError where another process writes it or it is no
    run file, ProblemsError where its run is another one than `header` says.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+b") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise SemifError(f"{path} is being written by another run; give another file") from None
        file.seek(0)
        content = file.read()
        whole = content.rfind(b"\n") + 1
        first = header_line(header).encode()
        earlier: tuple[Record, ...] = ()
        if whole:
            run = read_run(path)
            _check_same(run, header)
            earlier = run.records
        elif content[:_BEGINNING] != first[: min(_BEGINNING, len(content))]:
            raise SemifError(f"{path} is there and is no run file; give another file")
        file.truncate(whole)
        if not whole:
            file.write(first)
            file.flush()
        yield RunWriter(file, earlier)


def _check_same(run: Run, header: Header) -> None:
    told = [
        f"{name} is not what this run has; give another file, or ask as before"
        for name, value in _identity(header).items()
        if value != _identity(run.header)[name]
    ]
    if told:
        raise ProblemsError(run.path, told)


def _identity(header: Header) -> dict[str, object]:
    """What makes two runs the same one; file names, machine and start may be others."""
    pins, model = header.pins, header.pins.model
    return {
        "tasks": [file.sha256 for file in header.tasks],
        "target": header.target,
        "model": (pins.model_name, model and model.sha256, pins.model_data),
        "image": pins.image,
        **dict(header.asking),
    }
