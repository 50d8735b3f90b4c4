"""A table as labelled tasks: one question and its options for all rows, what differs is in the columns."""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated

from pydantic import Field

from semif.errors import shown
from semif.evaluation.tasks.asked_table import AskedTable
from semif.evaluation.tasks.labelled_tasks import LabelledTask, TaskSet
from semif.evaluation.tasks.rows import ReadRow, Row, cell_text, names_of, rows_with
from semif.evaluation.tasks.task_lines import MAX_FILE_BYTES, read_each
from semif.evaluation.tasks.task_rows import plain_task
from semif.project.toml_file import read_toml
from semif.project.whole_files import read_whole
from semif_adapter.contract.question import Content
from semif_adapter.contract.wire import MAX_OPTIONS, Identifier, WireModel


class OptionsFile(WireModel):
    """The options of a table's question: descriptions by their ids, empty where the id says it all."""

    options: Annotated[dict[Identifier, str], Field(min_length=2, max_length=MAX_OPTIONS)]


def read_options(path: Path) -> dict[str, str]:
    """The options of a TOML file. Raises SemifError, or ProblemsError with all that is wrong."""
    return read_toml(path, OptionsFile).options


@dataclass(frozen=True)
class Columns:
    """What the columns of a table are taken for, and what is asked of each row."""

    state: str
    expected: str
    question: str
    options: dict[str, str]
    """Their descriptions by their ids, in the order in which they are asked."""
    id: str | None = None
    """Without one a row is named after its line."""
    group: str | None = None
    slices: tuple[str, ...] = ()

    def asked(self) -> AskedTable:
        """What a run file keeps of it; the hash is of all, the options' order included."""
        sha256 = hashlib.sha256(json.dumps(asdict(self)).encode()).hexdigest()
        return AskedTable(state=self.state, id=self.id, sha256=sha256)

    def named(self) -> Iterator[tuple[str, str]]:
        """Each column that must be there, and the option of the command that names it."""
        yield self.state, "--state"
        yield self.expected, "--expected"
        if self.id is not None:
            yield self.id, "--id"
        if self.group is not None:
            yield self.group, "--group"
        yield from ((name, "--slice") for name in self.slices)


def read_table(path: Path, columns: Columns) -> TaskSet:
    """The rows of a file as tasks.

    Raises SemifError where it cannot be read, has no row or lacks a column, LinesError with all that is
    wrong in its rows.
    """
    content = read_whole(path, MAX_FILE_BYTES)
    rows = rows_with(path, content, tuple(columns.named()))
    reading = ((number, partial(_task, read, number, columns)) for number, read in rows)
    advice = (
        f"state is the column {shown(columns.state)}, expected the column {shown(columns.expected)}",
        f"options: {names_of(columns.options)}",
    )
    tasks = read_each(path, reading, advice)
    return TaskSet(path, hashlib.sha256(content).hexdigest(), tasks, columns.asked())


def _task(read: ReadRow, number: int, columns: Columns) -> LabelledTask:
    """Raises InvalidRequestError with all that is wrong with the row."""
    row = read()
    cells = {
        "id": (columns.id and cell_text(row, columns.id)) or f"line-{number}",
        "state": state_of(row, columns.state),
        "expected": cell_text(row, columns.expected),
        "group": columns.group and cell_text(row, columns.group),
    }
    options = [
        {"id": name} | ({"description": text} if text else {}) for name, text in columns.options.items()
    ]
    asked = {"question": columns.question, "options": options}
    task = plain_task(asked | {key: cell for key, cell in cells.items() if cell is not None})
    slices = {name: cell_text(row, name) for name in columns.slices}
    return replace(task, slices={name: text for name, text in slices.items() if text is not None})


def state_of(row: Row, column: str) -> Content | None:
    """What is judged: an object or array as it is, another cell as text. Raises as `cell_text`."""
    value: object = row.get(column)
    return value if isinstance(value, dict | list) else cell_text(row, column)
