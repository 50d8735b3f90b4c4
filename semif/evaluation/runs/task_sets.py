"""What a command asks: files of tasks, or tables."""

from collections.abc import Sequence
from pathlib import Path

from semif.errors import SemifError
from semif.evaluation.runs.labelled_tasks import TaskSet, read_task_set
from semif.evaluation.runs.rows import is_table
from semif.evaluation.runs.run_file import TaskFile
from semif.evaluation.runs.table_tasks import Columns, read_table


def read_task_sets(paths: Sequence[Path], columns: Columns | None = None) -> tuple[TaskSet, ...]:
    """Several files of tasks, or with `columns` of rows, whose ids must all differ.

    Raises SemifError where one cannot be read, holds no task or lacks a column, LinesError with all that is
    wrong in its lines.
    """
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


def task_file(file: TaskSet) -> TaskFile:
    """What a run's header tells of a file of tasks."""
    from semif.evaluation.runs.alike import looking_alike  # noqa: PLC0415 - scikit-learn takes its time to load

    return TaskFile(
        name=file.path.name,
        sha256=file.sha256,
        count=len(file.tasks),
        alike=looking_alike(file.tasks),
        table=file.table,
    )
