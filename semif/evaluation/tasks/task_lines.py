"""Files of labelled tasks, in JSON Lines.

Two forms of a line are read, told apart by what `question` is:

- text: a decision (`state`, `question`, `options` and maybe `id`, as the wire has them) beside `expected`,
  the id of the right option, and maybe `family`, `kind` and `group`;
- an object: a question of System One (`type`, `instructions`, `criteria`) about `state`, as JevBench's rows
  have it. `expected` is a choice's option, a noul's "yes" or "no", a score's level; `labels` orders them.

Messages name line and place, never what stands there.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path

from semif.errors import SemifError
from semif.evaluation.tasks.labelled_tasks import LabelledTask, TaskSet
from semif.evaluation.tasks.lines_error import LinesError
from semif.evaluation.tasks.task_rows import LABEL_KEYS, is_ours, plain_task, published_task
from semif.project.whole_files import read_whole, utf8
from semif_adapter.contract.errors import InvalidRequestError, Problem
from semif_adapter.contract.request_problems import path_text, type_name
from semif_adapter.contract.strict_json import read_json
from semif_adapter.contract.wire import MAX_BODY_BYTES, Decision

MAX_FILE_BYTES = 1 << 28
"""Of labelled tasks: a hundred thousand of them with long states."""
_ADVICE = (
    f"allowed keys: {', '.join((*Decision.model_fields, *LABEL_KEYS))}; a table's own columns: --state",
    '{"state": "My card…", "question": "Team?", "options": [{"id": "bank"}, {"id": "it"}], "expected": "it"}',
)
"""What a file of tasks looks like, for whoever has another one."""


def read_tasks(path: Path) -> tuple[LabelledTask, ...]:
    """The tasks of a file, in its order. Raises as `read_task_set` does."""
    return read_task_set(path).tasks


def read_task_set(path: Path) -> TaskSet:
    """A file of tasks. A line without an id is named after its number.

    Raises SemifError where the file cannot be read or holds no task, ProblemsError with all that is wrong.
    """
    content = read_whole(path, MAX_FILE_BYTES)
    lines = enumerate(utf8(content, path).split(b"\n"), 1)
    reading = ((number, partial(_read_line, line, number)) for number, line in lines if line.strip())
    return TaskSet(path, hashlib.sha256(content).hexdigest(), read_each(path, reading, _ADVICE))


def read_each(
    path: Path, reading: Iterable[tuple[int, Callable[[], LabelledTask]]], advice: Sequence[str]
) -> tuple[LabelledTask, ...]:
    """The task that each line makes, by its number; a call raises InvalidRequestError for what is wrong.

    Raises LinesError, which ends with `advice`, with all that is wrong, SemifError where there is no line.
    """
    tasks: list[LabelledTask] = []
    problems: list[tuple[int, str]] = []
    lines: dict[str, int] = {}
    for number, read in reading:
        try:
            task = read()
        except InvalidRequestError as error:
            problems += ((number, text) for text in _wordings(error))
            continue
        first = lines.setdefault(task.id, number)
        if first != number:
            problems.append((number, f"id must be unique, line {first} has the same"))
        tasks.append(task)
    if problems:
        raise LinesError(path, problems, advice)
    if not tasks:
        raise SemifError(f"{path} holds no task; {advice[0]}")
    return tuple(tasks)


def _read_line(line: bytes, number: int) -> LabelledTask:
    """Raises InvalidRequestError with what is wrong."""
    if len(line) > MAX_BODY_BYTES:  # no endpoint takes a longer request
        raise _wrong_line(f"has {len(line)} bytes, allowed are {MAX_BODY_BYTES}")
    row = read_json(line, is_ours, one_line=True)
    if not isinstance(row, dict):
        raise _wrong_line(f"must be an object, got {type_name(row)}")
    row.setdefault("id", f"line-{number}")
    return published_task(row) if isinstance(row.get("question"), dict) else plain_task(row)


def _wrong_line(message: str) -> InvalidRequestError:
    return InvalidRequestError(message, problems=[Problem((), message, "line")])


def _wordings(error: InvalidRequestError) -> Iterator[str]:
    """What is wrong with a line, place by place, as the file's own keys have it."""
    for problem in error.problems:
        location = problem.location
        if location[:2] == ("questions", "#0"):
            location = ("question", *location[2:])
        yield f"{path_text(location) or 'it'} {problem.message}"
