"""What several runs asked alike: the same task, with the same options and the same expected one.

Compared are answers in the order of the same number. Everything else is counted and left out.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from semif.errors import SemifError
from semif.evaluation.runs.run_file import EvaluationRun, Record


@dataclass(frozen=True)
class SharedTasks:
    """The answers of runs to the same questions, in the same order, and how many tasks are left out."""

    records: tuple[tuple[Record, ...], ...]
    """Of each run."""
    left_out: tuple[int, ...]
    """Of each run: tasks that not all asked."""
    unlike: int
    """Tasks of the same id in all whose options or expected option are not the same."""


def shared_tasks(runs: Sequence[EvaluationRun]) -> SharedTasks:
    """What all runs asked. Raises SemifError where they have no task in common."""
    answers = [{(record.task, record.order): record for record in run.records} for run in runs]
    first = answers[0]
    common = [key for key in first if all(key in other for other in answers)]
    like = [key for key in common if all(_is_like(first[key], other[key]) for other in answers)]
    tasks = sum(order == 0 for _, order in like)
    if not tasks:
        *paths, last = (str(run.path) for run in runs)
        raise SemifError(
            f"{', '.join(paths)} and {last} have no task in common: compare runs of the same file of tasks"
        )
    asked_by_all = sum(order == 0 for _, order in common)
    return SharedTasks(
        records=tuple(tuple(one[key] for key in like) for one in answers),
        left_out=tuple(sum(order == 0 for _, order in one) - asked_by_all for one in answers),
        unlike=asked_by_all - tasks,
    )


def _is_like(one: Record, other: Record) -> bool:
    return one.expected == other.expected and sorted(one.option_ids) == sorted(other.option_ids)
