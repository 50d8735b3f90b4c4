"""Several runs of the same tasks, each against the first."""

from dataclasses import dataclass

from semif.evaluation.figures.compare import compare
from semif.evaluation.figures.measures import holm
from semif.evaluation.figures.shared_tasks import SharedTasks
from semif.evaluation.figures.summary import Summary, summarise


@dataclass(frozen=True)
class Against:
    """A run against the first one, task by task."""

    both_right: int
    only_first_right: int
    only_this_right: int
    neither_right: int
    other_choice: int
    """Tasks on which the two chose differently."""
    p_value: float
    """As in `Comparison`."""
    p_adjusted: float
    """For the number of runs that are held against the first, by `holm`."""


@dataclass(frozen=True)
class Several:
    """All runs' figures over the same tasks, and how the others differ from the first."""

    summaries: tuple[Summary, ...]
    against: tuple[Against, ...]
    """One fewer than there are runs."""
    groups: int | None
    """Over how many groups the tests are; None for McNemar's, which takes each task by itself."""

    @property
    def tasks(self) -> int:
        """How many tasks all asked."""
        return self.summaries[0].right.whole


def compare_several(shared: SharedTasks) -> Several:
    """The figures of at least two runs."""
    first, *others = shared.records
    compared = [compare(first, other) for other in others]
    adjusted = holm([found.p_value for found in compared])
    return Several(
        summaries=tuple(map(summarise, shared.records)),
        against=tuple(
            Against(
                both_right=found.both_right,
                only_first_right=found.only_first_right,
                only_this_right=found.only_second_right,
                neither_right=found.neither_right,
                other_choice=len(found.differences),
                p_value=found.p_value,
                p_adjusted=p_adjusted,
            )
            for found, p_adjusted in zip(compared, adjusted, strict=True)
        ),
        groups=compared[0].groups,
    )
