"""Operating points: from which probability an answer is accepted, and what that is worth.

An accepted answer is acted on; the others go to the fallback, a person as a rule. Every threshold of a fixed
grid is tried on the same answers that are reported, which flatters the best one a little: look at a second
set of tasks before relying on it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from semif.calibration.grouped_mean import Mean, grouped_mean
from semif.errors import SemifError
from semif.evaluation.figures.measures import NORMAL_QUANTILE, Share, share_of

STEPS = 100
"""Thresholds are multiples of 1/STEPS: a finer one would say more than the answers can."""


@dataclass(frozen=True)
class JudgedAnswer:
    """One answered task: the choice's probability, whether the choice was right, and the task's group."""

    probability: float
    right: bool
    group: str


@dataclass(frozen=True)
class OperatingPoint:
    """What happens where answers of at least `threshold` are accepted. Intervals are of 95 %."""

    threshold: float
    coverage: Share
    """Of all answers, those accepted."""
    precision: Share | None
    """Of the accepted, those right; None where none is accepted."""

    @property
    def errors(self) -> int:
        """Accepted answers that were wrong."""
        return self.precision.whole - self.precision.part if self.precision else 0


class NoThresholdError(SemifError):
    """No threshold does what is wanted; `best` comes closest."""

    def __init__(self, message: str, best: OperatingPoint) -> None:
        super().__init__(message)
        self.best = best


def operating_points(answers: Sequence[JudgedAnswer]) -> tuple[OperatingPoint, ...]:
    """The points of all thresholds from 0 to 1, ascending. Raises SemifError where there are no answers."""
    if not answers:
        raise SemifError("there is no answered task to find a threshold on")
    probabilities = np.array([answer.probability for answer in answers])
    right = np.array([answer.right for answer in answers])
    groups = np.array([answer.group for answer in answers])
    points = []
    for step in range(STEPS + 1):
        threshold = step / STEPS
        accepted = probabilities >= threshold
        of_accepted = (
            share_of(right[accepted].tolist(), groups[accepted].tolist()) if accepted.any() else None
        )
        points.append(
            OperatingPoint(
                threshold=threshold,
                coverage=share_of(accepted.tolist(), groups.tolist()),
                precision=of_accepted,
            )
        )
    return tuple(points)


def for_precision(points: Sequence[OperatingPoint], wanted: float) -> OperatingPoint:
    """The lowest threshold whose precision is at least `wanted` even at the lower end of its interval.

    Raises NoThresholdError where there is none.
    """
    reached = [point for point in points if point.precision and point.precision.low >= wanted]
    if reached:
        return reached[0]
    best = max((point for point in points if point.precision), key=_surest)
    assert best.precision is not None
    needed = all_right_for(wanted)
    of_groups = "" if best.coverage.groups is None else ", of as many groups"
    raise NoThresholdError(
        f"no threshold gives a precision that is surely {wanted:g}: the best, {best.threshold:.2f}, accepts "
        f"{best.precision.whole} of {best.coverage.whole} and has {_interval(best.precision)}; at least "
        f"{needed:,} accepted answers{of_groups}, all right, would show it: label more tasks, or take a "
        "better model",
        best,
    )


def all_right_for(wanted: float) -> int:
    """How many answers, all right, show `wanted`: Wilson's interval of n of n begins at n / (n + z²)."""
    return math.ceil(NORMAL_QUANTILE**2 * wanted / (1 - wanted))


def for_coverage(points: Sequence[OperatingPoint], wanted: float) -> OperatingPoint:
    """The highest threshold that still accepts a share of at least `wanted`, which is at most 1."""
    return [point for point in points if point.coverage.value >= wanted][-1]


def for_cost(points: Sequence[OperatingPoint], error_cost: float) -> OperatingPoint:
    """The threshold of the least cost, the lowest of several.

    An accepted error costs as much as `error_cost` answers handed over. Raises NoThresholdError where handing
    everything over is as cheap.
    """

    def cost(point: OperatingPoint) -> float:
        handed_over = point.coverage.whole - point.coverage.part
        return handed_over + error_cost * point.errors

    best = min(points, key=cost)
    if cost(best) >= best.coverage.whole:
        raise NoThresholdError(
            f"with errors that cost {error_cost:g} times as much as handing over, no threshold is cheaper "
            "than handing everything over; take a better model",
            best,
        )
    return best


def mean_cost(answers: Sequence[JudgedAnswer], threshold: float, error_cost: float) -> Mean:
    """Of a decision at `threshold`, where an answer handed over costs 1."""
    costs = [
        1.0 if answer.probability < threshold else 0.0 if answer.right else error_cost for answer in answers
    ]
    return grouped_mean(costs, [answer.group for answer in answers])


def _surest(point: OperatingPoint) -> float:
    return point.precision.low if point.precision else 0.0


def _interval(value: Share) -> str:
    return f"{value.value:.3f} (95 % interval {value.low:.3f} to {value.high:.3f})"
