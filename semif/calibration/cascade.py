"""A cascade: a small model answers, and where it is not sure a larger one is asked the same.

From a run of each over the same tasks: what every threshold gives. A threshold is chosen on the same answers
that are reported, which flatters it a little: look at a second set of tasks before relying on it.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from semif.calibration.fit import need_enough
from semif.calibration.grouped_mean import Mean, grouped_difference, grouped_mean
from semif.errors import SemifError, shown
from semif.evaluation.figures.measures import Share, share_of
from semif.evaluation.figures.shared_tasks import shared_tasks
from semif.evaluation.figures.summary import is_right
from semif.evaluation.report.tables.run_facts import is_asked
from semif.evaluation.runs.run_file import EvaluationRun, Record, read_run

STEPS = 20
"""Points of the curve: each escalates about one part of so many more."""
_DIGITS = 1000
"""Thresholds are multiples of 1/1000, rounded up: a point escalates what it says, and never less."""


@dataclass(frozen=True)
class Both:
    """One task as both models answered it."""

    probability: float | None
    """Of the small model's choice; None where it gave no valid answer, which is escalated in any case."""
    small_right: bool
    large_right: bool
    seconds: tuple[float, float] | None
    """Of both at the client; None where one of them was not asked, but its predictions were imported."""
    group: str
    large_probability: float | None = None
    """Of the large model's choice; None where it gave no valid answer, or tells none."""

    def is_escalated(self, threshold: float) -> bool:
        """Whether the large model is asked."""
        return self.probability is None or self.probability < threshold


@dataclass(frozen=True)
class CascadePoint:
    """What happens where answers below `threshold` are escalated. Intervals are of 95 %, for whole groups."""

    threshold: float
    escalated: Share
    right: Share
    against_large: Mean
    """Right answers less those of the large model alone, a share of the tasks; negative where it loses."""
    seconds: Mean | None
    """Of a decision; where it is escalated both models take their time. None where one tells no times."""
    cost: Mean | None
    """Of a decision, in the unit of the prices; None without them."""


@dataclass(frozen=True)
class Cascade:
    """A curve from the small model alone to all that is not certain escalated, and the large model alone."""

    tasks: tuple[Both, ...]
    """What the curve is of."""
    points: tuple[CascadePoint, ...]
    """By ascending threshold."""
    large_right: Share
    large_seconds: Mean | None
    large_cost: float | None
    large_gain: Mean
    """Right answers of the large model less those of the small one, a share of the tasks."""
    same_run: bool
    """Whether both files hold the same answers, times included."""
    left_out: int
    """Tasks that one of the runs alone asked, or that were not the same in both."""

    @property
    def warnings(self) -> Iterator[str]:
        """Where there is nothing to gain from asking the large model, and what then."""
        gain = self.large_gain
        told = f"{gain.value:+.4f}, 95 % interval {gain.low:+.4f} to {gain.high:+.4f}"
        if self.same_run:
            yield "both files hold the same run; give one of each model"
        elif gain.value <= 0:
            yield f"the large model is right no more often than the small one ({told}); do without it"
        elif gain.low <= 0:
            yield (
                f"the large model is right more often by no more than chance could ({told}); label more "
                "tasks, or do without it"
            )


class NoCascadeError(SemifError):
    """No threshold does what is wanted."""


def read_cascade(
    small: Path, large: Path, prices: tuple[float, float] | None, *, family: str | None = None
) -> Cascade:
    """The curve of two runs, or of one family of their tasks; `prices` are of a small and a large decision.

    Raises SemifError where a run cannot be read, they have no task in common, the small one tells no
    probabilities, or as `need_enough` for the tasks on which it does.
    """
    runs = (_of_family(read_run(small), family), _of_family(read_run(large), family))
    timed = all(is_asked(run.header) for run in runs)
    shared = shared_tasks(runs)
    tasks = [_both(*both, timed=timed) for both in zip(*shared.records, strict=True) if both[0].order == 0]
    if all(task.probability is None for task in tasks):
        raise SemifError(f"{small} tells no probabilities, by which it could be escalated; ask another form")
    need_enough([task.group for task in tasks if task.probability is not None])
    groups = [task.group for task in tasks]
    small_right, large_right = [task.small_right for task in tasks], [task.large_right for task in tasks]
    return Cascade(
        tasks=tuple(tasks),
        points=cascade_points(tasks, prices),
        large_right=share_of(large_right, groups),
        large_seconds=_mean([task.seconds and task.seconds[1] for task in tasks], groups),
        large_cost=prices and prices[1],
        large_gain=grouped_difference(large_right, small_right, groups),
        same_run=shared.records[0] == shared.records[1],
        left_out=sum(shared.left_out) + shared.unlike,
    )


def _of_family(run: EvaluationRun, family: str | None) -> EvaluationRun:
    if family is None:
        return run
    records = tuple(record for record in run.records if record.family == family)
    if not records:
        known = ", ".join(sorted({record.family for record in run.records if record.family})) or "none"
        raise SemifError(f"no task of {run.path} is of the family {shown(family)}, there are {known}")
    return replace(run, records=records)


def _both(small: Record, large: Record, *, timed: bool) -> Both:
    return Both(
        probability=small.choice_probability,
        small_right=is_right(small),
        large_right=is_right(large),
        seconds=(small.client_seconds, large.client_seconds) if timed else None,
        group=small.cluster,
        large_probability=large.choice_probability,
    )


def cascade_points(tasks: Sequence[Both], prices: tuple[float, float] | None) -> tuple[CascadePoint, ...]:
    """The points of the curve, which has at least one probability."""
    known = [task.probability for task in tasks if task.probability is not None]
    quantiles = np.quantile(known, np.arange(1, STEPS) / STEPS)
    thresholds = {0.0, 1.0, *(math.ceil(float(one) * _DIGITS) / _DIGITS for one in quantiles)}
    return tuple(_point(tasks, threshold, prices) for threshold in sorted(thresholds))


def _point(tasks: Sequence[Both], threshold: float, prices: tuple[float, float] | None) -> CascadePoint:
    groups = [task.group for task in tasks]
    escalated = [task.is_escalated(threshold) for task in tasks]
    decided = list(zip(tasks, escalated, strict=True))
    right = [task.large_right if up else task.small_right for task, up in decided]
    large = [task.large_right for task in tasks]
    # Nothing is left to chance where all are escalated: then it is the large model that answers.
    difference = Mean(0.0, 0.0, 0.0) if all(escalated) else grouped_difference(right, large, groups)
    seconds = [task.seconds and task.seconds[0] + up * task.seconds[1] for task, up in decided]
    return CascadePoint(
        threshold=threshold,
        escalated=share_of(escalated, groups),
        right=share_of(right, groups),
        against_large=difference,
        seconds=_mean(seconds, groups),
        cost=grouped_mean([prices[0] + up * prices[1] for up in escalated], groups) if prices else None,
    )


def _mean(seconds: Sequence[float | None], groups: Sequence[str]) -> Mean | None:
    """None where a time is not known."""
    known = [value for value in seconds if value is not None]
    return grouped_mean(known, groups) if len(known) == len(seconds) else None


def losing_at_most(cascade: Cascade, share: float) -> CascadePoint:
    """The least escalation that surely loses at most `share` of the tasks against the large model alone.

    Surely: by the lower end of the difference's interval, which pairs the answers to each task. Raises
    NoCascadeError where there is none.
    """
    for point in cascade.points:
        if point.against_large.low >= -share:
            return point
    raise NoCascadeError(
        f"no threshold surely loses at most {share:g} against the larger model alone: at "
        f"{cascade.points[-1].threshold:g} it may be {-cascade.points[-1].against_large.low:.3f}; label more "
        "tasks, or allow more"
    )


def escalating_at_most(cascade: Cascade, share: float) -> CascadePoint:
    """The highest threshold that escalates at most `share`. Raises NoCascadeError where there is none."""
    within = [point for point in cascade.points if point.escalated.value <= share]
    if not within:
        raise NoCascadeError(
            f"no threshold escalates at most {share:g}: {cascade.points[0].escalated.value:.3f} of the tasks "
            "got no valid answer from the small model"
        )
    return within[-1]


def advice(cascade: Cascade, found: CascadePoint) -> str:
    """What to do, for people."""
    if found.escalated.part == found.escalated.whole:
        return "always ask the large model"
    if found.escalated.part == cascade.points[0].escalated.part:
        unanswered = ", but where the small one gives no valid answer" if found.escalated.part else ""
        return f"never ask the large model{unanswered}"
    return f"escalate below {found.threshold:g}"
