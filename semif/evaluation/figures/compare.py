"""Two runs of the same tasks against each other."""

from collections.abc import Sequence
from dataclasses import dataclass

from semif.evaluation.figures.measures import paired_p_value
from semif.evaluation.figures.summary import Summary, is_right, summarise
from semif.evaluation.runs.run_file import Record


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


def compare(first: Sequence[Record], second: Sequence[Record]) -> Comparison:
    """The figures of both sides, which are `SharedTasks`' records, and where they differ."""
    tasks = [both for both in zip(first, second, strict=True) if both[0].order == 0]
    right = [(is_right(one), is_right(other)) for one, other in tasks]
    clusters = [one.cluster for one, _ in tasks]
    return Comparison(
        first=summarise(first),
        second=summarise(second),
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
