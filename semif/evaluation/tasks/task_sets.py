"""What a command asks: files of tasks, or tables."""

from collections.abc import Sequence
from pathlib import Path

from semif.errors import SemifError
from semif.evaluation.tasks.labelled_tasks import TaskSet
from semif.evaluation.tasks.rows import is_table
from semif.evaluation.tasks.table_tasks import Columns, read_table
from semif.evaluation.tasks.task_lines import read_task_set


def read_task_sets(paths: Sequence[Path], columns: Columns | None = None) -> tuple[TaskSet, ...]:
    """Several files of tasks, or with `columns` of rows, whose ids must all differ.

    Raises SemifError where one cannot be read, holds no task or lacks a column, LinesError with all that is
    wrong in its lines.
    """
    twice = [path for place, path in enumerate(paths) if path in paths[:place]]
    if twice:
        raise SemifError(f"{twice[0]} is given twice; give each file once")
    sets = tuple(_read(path, columns) for path in paths)
    first: dict[str, Path] = {}
    for file in sets:
        for task in file.tasks:
            earlier = first.setdefault(task.id, file.path)
            if earlier is not file.path:
                raise SemifError(
                    f"{file.path} has ids of tasks that {earlier} has too; give each task its own"
                )
    return sets


def _read(path: Path, columns: Columns | None) -> TaskSet:
    if columns is not None:
        return read_table(path, columns)
    if is_table(path):
        raise SemifError(
            f"{path} is a table: say which column is what with --state and --expected, and what is asked "
            "with --question and --options"
        )
    return read_task_set(path)
