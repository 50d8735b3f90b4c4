"""What answers are worth, as numbers: pure functions over arrays.

`confidence` is the probability of the choice, one for each decision, 0 to 1; `right` says of each whether the
choice was the expected one. Decisions may differ in how many options they have, so `probabilities` is one row
for each decision, of any length, and `expected` the position of the right option in its row.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import binomtest

Floats = NDArray[np.float64]

CONFIDENCE_LEVEL = 0.95
"""Of every interval."""
BINS = 10
"""Of the reliability diagram and the expected calibration error: of equal width, from 0 to 1."""
LEAST_PROBABILITY = 1e-15
"""The log loss takes a smaller one for this: one certain mistake must not make it infinite."""


@dataclass(frozen=True)
class Share:
    """How many of how many, with the 95 % interval of Wilson's score around `value`."""

    part: int
    whole: int
    value: float
    low: float
    high: float


def share(part: int, whole: int) -> Share:
    """`part` of `whole`, which must be at least 1.

    Wilson's interval stays between 0 and 1 and holds for few cases as well (E. B. Wilson, 1927,
    doi:10.1080/01621459.1927.10502953).
    """
    interval = binomtest(part, whole).proportion_ci(CONFIDENCE_LEVEL, method="wilson")
    value = part / whole  # at 0 and 1 the interval's own end is a rounding error away from it
    return Share(part, whole, value, min(value, float(interval.low)), max(value, float(interval.high)))


@dataclass(frozen=True)
class Bin:
    """The decisions whose confidence is above `low` and at most `high`."""

    low: float
    high: float
    confidence: float
    """Their mean confidence."""
    right: Share


def reliability(confidence: ArrayLike, right: ArrayLike, bins: int = BINS) -> tuple[Bin, ...]:
    """The bins of equal width that hold a decision, from the lowest confidence to the highest.

    A confidence of 0 belongs to the first bin.
    """
    confidences, hits = _floats(confidence), np.asarray(right, dtype=bool)
    edges = np.linspace(0, 1, bins + 1)
    places = np.clip(np.searchsorted(edges, confidences, side="left") - 1, 0, bins - 1)
    return tuple(
        Bin(
            low=float(edges[place]),
            high=float(edges[place + 1]),
            confidence=float(confidences[places == place].mean()),
            right=share(int(hits[places == place].sum()), int((places == place).sum())),
        )
        for place in np.unique(places)
    )


def expected_calibration_error(confidence: ArrayLike, right: ArrayLike, bins: int = BINS) -> float:
    """How far confidence and accuracy are apart, 0 to 1: the mean over the bins, weighted by size.

    Few decisions make it larger, even where the probabilities are perfect (M. P. Naeini, G. F. Cooper,
    M. Hauskrecht, 2015, doi:10.1609/aaai.v29i1.9602).
    """
    occupied = reliability(confidence, right, bins)
    distances = [abs(one.confidence - one.right.value) for one in occupied]
    return float(np.average(distances, weights=[one.right.whole for one in occupied]))


def brier_score(probabilities: Sequence[ArrayLike], expected: Sequence[int]) -> float:
    """Mean over the decisions of the summed squared distance from certainty in the right option.

    0 is perfect, 2 is certain and wrong; guessing evenly among n options scores 1 - 1/n. This is the original
    form, over all options (G. W. Brier, 1950, doi:10.1175/1520-0493(1950)078<0001:VOFEIT>2.0.CO;2).
    """
    scores = []
    for row, place in zip(map(_floats, probabilities), expected, strict=True):
        scores.append(float(row @ row - 2 * row[place] + 1))
    return float(np.mean(scores))


def log_loss(probabilities: Sequence[ArrayLike], expected: Sequence[int]) -> float:
    """Mean of -log of the right option's probability, in nats; guessing evenly among n scores log(n)."""
    of_right = [float(_floats(row)[place]) for row, place in zip(probabilities, expected, strict=True)]
    return float(-np.log(np.maximum(of_right, LEAST_PROBABILITY)).mean())


@dataclass(frozen=True)
class Spread:
    """How values lie, in their own unit. A percentile is interpolated between the two nearest values."""

    count: int
    mean: float
    p50: float
    p90: float
    p95: float
    p99: float
    lowest: float
    highest: float


def spread(values: ArrayLike) -> Spread:
    """Of at least one value."""
    floats = _floats(values)
    p50, p90, p95, p99 = (float(value) for value in np.percentile(floats, (50, 90, 95, 99)))
    return Spread(
        len(floats), float(floats.mean()), p50, p90, p95, p99, float(floats.min()), float(floats.max())
    )


def mcnemar(only_first: int, only_second: int) -> float:
    """p value of McNemar's test, two-sided: how likely chance alone splits the tasks so unevenly.

    Takes on how many tasks only the first of two was right, and on how many only the second. The exact
    (binomial) form, whatever their number; 1 where there is none (Q. McNemar, 1947, doi:10.1007/BF02295996).
    """
    if only_first + only_second == 0:
        return 1.0
    return float(binomtest(only_first, only_first + only_second).pvalue)


def _floats(values: ArrayLike) -> Floats:
    return np.asarray(values, dtype=np.float64)
