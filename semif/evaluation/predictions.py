"""Predictions that somebody has, of whatever classifier, as a run: read from a table, nothing is asked."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from semif.errors import SemifError, shown
from semif.evaluation.asking.forms.fields import problem_of
from semif.evaluation.runs.new_run import new_header
from semif.evaluation.runs.run_file import AnswerFault, Asking, Pins, PredictionsFile, TargetName
from semif.evaluation.runs.run_writer import open_run
from semif.evaluation.runs.task_record import ReplyContent, record_of
from semif.evaluation.tasks.labelled_tasks import LabelledTask, TaskSet
from semif.evaluation.tasks.lines_error import LinesError
from semif.evaluation.tasks.near_labels import near_option
from semif.evaluation.tasks.option_orders import OrderedTask
from semif.evaluation.tasks.rows import Row, cell_text, names_of, rows_with
from semif.evaluation.tasks.task_lines import MAX_FILE_BYTES
from semif.project.whole_files import read_whole
from semif_adapter.contract.errors import InvalidRequestError

_NO_PREDICTION = AnswerFault(code="no_prediction", message="the cell is empty")


@dataclass(frozen=True)
class PredictionColumns:
    """What the columns of a file of predictions are taken for."""

    predicted: str
    """The id of an option; an empty cell is a task without a valid answer."""
    id: str | None = None
    """The tasks' ids; None where a row is of the task that is named after its line."""
    probabilities: str | None = None
    """A column that holds an object of them by option, or what their columns' names begin with, before the
    option's id."""
    confidence: str | None = None
    """A column of the probability of what is predicted, where no other option's is known."""


@dataclass(frozen=True)
class Imported:
    """What became of the rows and tasks."""

    without: tuple[str, ...]
    """Tasks that no row predicts: the run does not have them."""
    of_no_task: int
    """Rows of ids that no task has."""


def import_predictions(
    sets: Sequence[TaskSet], path: Path, columns: PredictionColumns, output: Path
) -> Imported:
    """Write the predictions in `path` of the tasks of `sets` as the run file `output`.

    Raises LinesError with all that is wrong with the rows, SemifError where the file cannot be read, lacks a
    column or predicts no task, and as `open_run`.
    """
    content = read_whole(path, MAX_FILE_BYTES)
    tasks = {task.id: task for file in sets for task in file.tasks}
    predicted, of_no_task = _predicted(path, content, columns, tasks)
    if not predicted:
        raise SemifError(
            f"{path} predicts none of the {len(tasks)} tasks: its rows have other ids; name the column of "
            "the tasks' ids with --id"
        )
    told = PredictionsFile(
        name=path.name,
        sha256=hashlib.sha256(content).hexdigest(),
        predicted=columns.predicted,
        probabilities=columns.probabilities,
        confidence=columns.confidence,
    )
    target = TargetName(kind="predictions", name=path.name)
    now = datetime.now(UTC)
    with open_run(output, new_header(sets, target, Pins(), Asking(), predictions=told)) as run:
        there = {record.task for record in run.earlier}
        for name, found in predicted.items():
            if name not in there:
                ordered = OrderedTask(tasks[name], 0, tasks[name].options)
                run.append(record_of(ordered, found, asked=now, client_seconds=0.0))
    return Imported(tuple(name for name in tasks if name not in predicted), of_no_task)


def _predicted(
    path: Path, content: bytes, columns: PredictionColumns, tasks: Mapping[str, LabelledTask]
) -> tuple[dict[str, ReplyContent], int]:
    """By task, in the order of the rows, and how many rows are of none. Raises LinesError, SemifError."""
    named = ((columns.predicted, "--predicted"), (columns.id, "--id"), (columns.confidence, "--confidence"))
    needed = [(column, option) for column, option in named if column]
    found: dict[str, ReplyContent] = {}
    lines: dict[str, int] = {}
    problems: list[tuple[int, str]] = []
    of_no_task = 0
    for number, read in rows_with(path, content, needed):
        try:
            row = read()
            name = f"line-{number}" if columns.id is None else cell_text(row, columns.id)
            said = cell_text(row, columns.predicted)
        except InvalidRequestError as error:
            problems += ((number, problem.message) for problem in error.problems)
            continue
        if name is None:
            problems.append((number, f"column {shown(columns.id)} is empty, it names the task"))
        elif lines.setdefault(name, number) != number:
            problems.append((number, f"the task must be predicted once, line {lines[name]} has the same"))
        elif name not in tasks:
            of_no_task += 1
        else:
            problems += ((number, text) for text in _problems(row, said, tasks[name], columns))
            found[name] = _content(row, said, tasks[name], columns)
    if problems:
        raise LinesError(path, problems, _advice(columns, tasks))
    return found, of_no_task


def _advice(columns: PredictionColumns, tasks: Mapping[str, LabelledTask]) -> tuple[str, ...]:
    """What a row holds; of the options only where all tasks have the same."""
    what = (
        f"predicted is the column {shown(columns.predicted)}: write an option's id, or nothing where none "
        "was named, which counts as not right"
    )
    sets = {frozenset(option.id for option in task.options): task.options for task in tasks.values()}
    if len(sets) > 1:
        return (what,)
    return what, f"options: {names_of([option.id for option in sets.popitem()[1]])}"


def _problems(row: Row, said: str | None, task: LabelledTask, columns: PredictionColumns) -> Iterator[str]:
    ids = [option.id for option in task.options]
    if said is not None and said not in ids:
        where = f"column {shown(columns.predicted)}"
        yield f"{where} must be one of the task's options{near_option(said, ids)}"
    if said is not None and columns.probabilities is not None:
        numbers = _numbers(row, ids, columns.probabilities)
        if None in numbers:
            yield (
                f"the probabilities must be numbers, in an object in the column "
                f"{shown(columns.probabilities)} or one to a column, {shown(columns.probabilities + ids[0])} "
                "and so on"
            )
        elif problem := problem_of(numbers, len(ids)):
            yield problem
    if said is not None and columns.confidence is not None and _confidence(row, columns.confidence) is None:
        yield (
            f"column {shown(columns.confidence)} must be a number from 0 to 1, the probability of what is "
            "predicted"
        )


def _content(row: Row, said: str | None, task: LabelledTask, columns: PredictionColumns) -> ReplyContent:
    """As an answer; what `_problems` finds in it is told, and nothing written."""
    if said is None:
        return ReplyContent(status="unparsable", error=_NO_PREDICTION)
    if columns.confidence is not None:
        return ReplyContent(choice=said, confidence=_confidence(row, columns.confidence))
    if columns.probabilities is None:
        return ReplyContent(choice=said)
    numbers = _numbers(row, [option.id for option in task.options], columns.probabilities)
    return ReplyContent(choice=said, probabilities=tuple(number or 0.0 for number in numbers))


def _numbers(row: Row, options: Sequence[str], named: str) -> list[float | None]:
    """A number for each option; None where there is none."""
    held = row.get(named)
    cells = [held.get(name) if isinstance(held, dict) else row.get(named + name) for name in options]
    return [_number(cell) for cell in cells]


def _confidence(row: Row, named: str) -> float | None:
    """A number from 0 to 1; None where there is none."""
    number = _number(row.get(named))
    return number if number is not None and 0 <= number <= 1 else None


def _number(cell: object) -> float | None:
    if isinstance(cell, bool) or not isinstance(cell, str | int | float):
        return None
    try:
        return float(cell)
    except (ValueError, OverflowError):  # an integer may be longer than any float
        return None
