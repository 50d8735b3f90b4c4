"""From run files to the threshold that does what is wanted."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from semif.calibration.calibration_file import read_calibration
from semif.calibration.grouped_mean import Mean
from semif.calibration.judged_answers import JudgedAnswers, read_judged
from semif.calibration.thresholds import (
    OperatingPoint,
    for_cost,
    for_coverage,
    for_precision,
    mean_cost,
    operating_points,
)

Goal = Literal["precision", "coverage", "cost-of-error"]
_FIND = {"precision": for_precision, "coverage": for_coverage, "cost-of-error": for_cost}


@dataclass(frozen=True)
class ThresholdSearch:
    """The point that does what is wanted, among all that were looked at."""

    goal: Goal
    value: float
    point: OperatingPoint
    points: tuple[OperatingPoint, ...]
    cost: Mean | None
    """Of a decision at this point, where the cost was the goal."""
    judged: JudgedAnswers


def find_threshold(
    runs: Sequence[Path], goal: Goal, value: float, *, family: str | None, calibration: Path | None
) -> ThresholdSearch:
    """The threshold for `goal`. Raises NoThresholdError where there is none, and as `read_judged` does."""
    loaded = read_calibration(calibration) if calibration else None
    judged = read_judged(runs, family=family, calibration=loaded)
    points = operating_points(judged.answers)
    point = _FIND[goal](points, value)
    cost = mean_cost(judged.answers, point.threshold, value) if goal == "cost-of-error" else None
    return ThresholdSearch(goal, value, point, points, cost, judged)
