"""Writing a run file: each answer as it comes, and going on where a run was stopped."""

import fcntl
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from io import SEEK_END, FileIO
from pathlib import Path

from semif.errors import ProblemsError, SemifError, shown
from semif.evaluation.runs.run_file import (
    EvaluationRun,
    Record,
    RunHeader,
    header_line,
    read_run,
    record_line,
)
from semif.project.whole_files import cannot_write, make_folder_of, write_whole

_BEGINNING = len('{"schema":')
"""A file without a whole line is taken for a header cut off if it begins as one."""


class RunWriter:
    """A run file that is being written. Use `open_run`."""

    def __init__(self, path: Path, file: FileIO, earlier: tuple[Record, ...]) -> None:
        self._path = path
        self._file = file
        self.earlier = earlier
        """The answers that the file had before."""

    def append(self, record: Record) -> None:
        """Write an answer, so that it is there if the process ends now. Raises SemifError where it cannot."""
        _write(self._path, self._file, record_line(record))


@contextmanager
def open_run(path: Path, header: RunHeader) -> Iterator[RunWriter]:
    """The run file at `path`: a new one with `header`, or the one that is there, to go on with.

    A last line that was cut off is taken away; a run of the first tasks may go on with more of them.
    Raises SemifError where another process writes it or it is no run file, ProblemsError where its run is
    another one than `header` says.
    """
    make_folder_of(path)
    with ExitStack() as files:
        file = files.enter_context(_locked(path))
        file.seek(0)
        content = file.read()
        whole = content.rfind(b"\n") + 1
        first = header_line(header)
        earlier: tuple[Record, ...] = ()
        if whole:
            run = read_run(path)
            _check_same(run, header)
            earlier = run.records
            if run.header.asking.limit != header.asking.limit:
                _, rest = content[:whole].split(b"\n", 1)
                longer = run.header.model_copy(update={"asking": header.asking})
                write_whole(path, header_line(longer).encode() + rest)
                file = files.enter_context(_locked(path))  # another file now, of the same name
                whole = file.seek(0, SEEK_END)
        elif content[:_BEGINNING] != first.encode()[: min(_BEGINNING, len(content))]:
            raise SemifError(f"{path} is there and is no run file; give another file")
        file.truncate(whole)
        if not whole:
            _write(path, file, first)
        yield RunWriter(path, file, earlier)


@contextmanager
def _locked(path: Path) -> Iterator[FileIO]:
    """The file, opened to append to. Raises SemifError where another process has it, or it can be none."""
    if path.exists() and not path.is_file():  # a device may be read without end, a pipe waits for its writer
        raise SemifError(f"cannot write {path}: it is there, and is no file that could be written to")
    try:
        # Without a buffer: what a full disk did not take would fail once more when the file is closed.
        opened = path.open("a+b", buffering=0)
    except OSError as error:
        raise cannot_write(path, error) from None
    with opened as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise SemifError(f"{path} is being written by another run; give another file") from None
        yield file


def _write(path: Path, file: FileIO, line: str) -> None:
    left = line.encode()
    try:
        while left:
            left = left[file.write(left) :]
    except OSError as error:
        raise cannot_write(path, error) from error


def _check_same(run: EvaluationRun, header: RunHeader) -> None:
    earlier = _identity(run.header)
    problems = [
        f"{name} was {_shown(earlier[name])} and is {_shown(value)} now; give another file, or ask as before"
        for name, value in _identity(header).items()
        if value != earlier[name]
    ]
    before, now = run.header.asking.limit, header.asking.limit
    if now is not None and (before is None or now < before):
        problems.append(f"limit was {_shown(before)} and is {now} now; give another file, or no smaller one")
    if problems:
        raise ProblemsError(run.path, problems)


def _identity(header: RunHeader) -> dict[str, object]:
    """What makes two runs the same one; file names, machine and start may be others, the limit larger."""
    pins, model = header.pins, header.pins.model
    return {
        "tasks, by SHA-256,": " ".join(file.sha256 for file in header.tasks),
        "columns, question or options, by SHA-256,": " ".join(
            file.table.sha256 if file.table else "none" for file in header.tasks
        ),
        "predictions, by SHA-256,": header.predictions and header.predictions.sha256,
        "columns of predictions": header.predictions
        and f"{header.predictions.predicted}, "
        + (header.predictions.probabilities or header.predictions.confidence or "no probabilities"),
        "target": f"{header.target.kind} {header.target.name}",
        "model": pins.model_name,
        "model file, by SHA-256,": model and model.sha256,
        "model data": pins.model_data,
        "llama.cpp": model and model.llama_cpp_build,
        "mode": model and model.mode,
        "prompt": pins.prompt_version,
        "calibration, by SHA-256,": pins.calibration,
        "request, by SHA-256,": pins.request,
        "image": pins.image,
        **header.asking.model_dump(exclude={"limit"}),
    }


def _shown(value: object) -> str:
    return "none" if value is None else shown(value) if isinstance(value, str) else str(value)
