"""Two runs of the same tasks against each other.

Compared is what both runs asked: the same task, with the same options and the same expected one, in the order
of the same number. Everything else is counted and left out.
"""

from dataclasses import dataclass

from semif.errors import SemifError
from semif.evaluation.figures.measures import paired_p_value
from semif.evaluation.figures.summary import Summary, is_right, summarise
from semif.evaluation.runs.run_file import EvaluationRun, Record


@dataclass(frozen=True)
class Pairs:
    """The answers of two runs to the same questions, in the same order, and how many tasks are left out."""

    first: tuple[Record, ...]
    second: tuple[Record, ...]
    only_in_first: int
    only_in_second: int
    unlike: int
    """Tasks of the same id in both whose options or expected option are not the same."""


@dataclass(frozen=True)
class Difference:
    """A task on which the two runs chose differently; a choice is None where there was no valid answer."""

    task: str
    family: str | None
    expected: str
    first: str | None
    second: str | None


@dataclass(frozen=True)
class Comparison:
    """Both runs' figures over the same tasks, and how the answers differ."""

    first: Summary
    second: Summary
    both_right: int
    only_first_right: int
    only_second_right: int
    neither_right: int
    p_value: float
    """How likely chance alone makes the accuracies differ so far, two-sided: see `paired_p_value`."""
    groups: int | None
    """Over how many groups the test is; None for McNemar's, which takes each task by itself."""
    differences: tuple[Difference, ...]

    @property
    def tasks(self) -> int:
        """How many tasks both asked."""
        return self.first.right.whole


def pair(first: EvaluationRun, second: EvaluationRun) -> Pairs:
    """What both runs asked. Raises SemifError where they have no task in common."""
    here = {(record.task, record.order): record for record in first.records}
    there = {(record.task, record.order): record for record in second.records}
    common = [key for key in here if key in there]
    like = [key for key in common if _is_like(here[key], there[key])]
    tasks = sum(order == 0 for _, order in like)
    if not tasks:
        raise SemifError(
            f"{first.path} and {second.path} have no task in common: compare runs of the same file of tasks"
        )
    return Pairs(
        first=tuple(here[key] for key in like),
        second=tuple(there[key] for key in like),
        only_in_first=sum(order == 0 and (task, order) not in there for task, order in here),
        only_in_second=sum(order == 0 and (task, order) not in here for task, order in there),
        unlike=sum(order == 0 for _, order in common) - tasks,
    )


def compare(pairs: Pairs) -> Comparison:
    """The figures of both sides of `pairs`, and where they differ."""
    tasks = [both for both in zip(pairs.first, pairs.second, strict=True) if both[0].order == 0]
    right = [(is_right(one), is_right(other)) for one, other in tasks]
    clusters = [one.cluster for one, _ in tasks]
    return Comparison(
        first=summarise(pairs.first),
        second=summarise(pairs.second),
        both_right=right.count((True, True)),
        only_first_right=right.count((True, False)),
        only_second_right=right.count((False, True)),
        neither_right=right.count((False, False)),
        p_value=paired_p_value([one for one, _ in right], [other for _, other in right], clusters),
        groups=len(set(clusters)) if len(set(clusters)) < len(tasks) else None,
        differences=tuple(
            Difference(one.task, one.family, one.expected, one.choice, other.choice)
            for one, other in tasks
            if one.choice != other.choice
        ),
    )


def _is_like(one: Record, other: Record) -> bool:
    return one.expected == other.expected and sorted(one.option_ids) == sorted(other.option_ids)
