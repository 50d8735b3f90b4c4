"""What answers are worth, as numbers: pure functions over arrays.

`confidence` is the probability of the choice, one for each decision, 0 to 1; `right` says of each whether the
choice was the expected one. Decisions may differ in how many options they have, so `probabilities` is one row
for each decision, of any length, and `expected` the position of the right option in its row. `groups` names
what each decision counts together with: ten wordings of one ticket are not ten tickets.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

CONFIDENCE_LEVEL = 0.95
"""Of every interval."""
NORMAL_QUANTILE = NormalDist().inv_cdf((1 + CONFIDENCE_LEVEL) / 2)
BINS = 10
"""Of the reliability diagram and the expected calibration error: of equal width, from 0 to 1."""
LEAST_PROBABILITY = 1e-15
"""The log loss takes a smaller one for this: one certain mistake must not make it infinite."""


@dataclass(frozen=True)
class Share:
    """How many of how many, with a 95 % interval around `value`: Wilson's, or that of `share_of`."""

    part: int
    whole: int
    value: float
    low: float
    high: float
    groups: int | None = None
    """Of how many groups the interval is; None where each case counts by itself."""


def share(part: int, whole: int) -> Share:
    """`part` of `whole`, which must be at least 1.

    Wilson's interval stays between 0 and 1 and holds for few cases as well (E. B. Wilson, 1927,
    doi:10.1080/01621459.1927.10502953).
    """
    value = part / whole
    return Share(part, whole, value, *_wilson(value, whole, NORMAL_QUANTILE))


def share_of(hits: Sequence[bool], groups: Sequence[str]) -> Share:
    """How many of `hits` are true, of at least one; `groups` names the group of each.

    Where a group holds several, the interval is Wilson's for the effective number of cases: their number
    divided by the design effect, which is how much more the share varies from group to group than it would
    among independent cases. Student's quantile for the number of groups takes the normal one's place. Where
    all hit or none does, no variation is seen, and each group counts as one case. With one group alone the
    interval is 0 to 1: it says nothing about others.

    This is the modified Wilson interval of surveys: C. Franco, R. Little, T. Louis, E. Slud, 2019,
    doi:10.1093/jssam/smy019; SAS's manual of SURVEYFREQ, "Confidence Limits for Proportions" (read on
    2026-11-30).
    """
    right = np.asarray(hits, dtype=np.float64)
    part, whole = int(right.sum()), len(right)
    names, places = np.unique(groups, return_inverse=True)
    if len(names) == whole:
        return share(part, whole)
    value = part / whole
    if len(names) == 1:
        return Share(part, whole, value, 0.0, 1.0, groups=1)
    from scipy.special import stdtrit  # noqa: PLC0415 - takes its time to load, and few tasks have groups

    quantile = float(stdtrit(len(names) - 1, (1 + CONFIDENCE_LEVEL) / 2))
    low, high = _wilson(value, _effective_cases(right, places, len(names)), quantile)
    return Share(part, whole, value, low, high, groups=len(names))


def _effective_cases(right: Floats, places: NDArray[np.signedinteger], groups: int) -> float:
    """As how many independent cases the hits tell, at most their number."""
    whole, value = len(right), float(right.mean())
    independent = value * (1 - value) / whole
    if independent == 0:
        return float(groups)
    deviations = np.bincount(places, right - value, groups)
    between = float(deviations @ deviations) * groups / (groups - 1) / whole**2
    return whole / max(1.0, between / independent)


def _wilson(value: float, cases: float, quantile: float) -> tuple[float, float]:
    """Wilson's interval for a share of so many cases, a number that need not be whole."""
    squared = quantile**2 / cases
    middle = (value + squared / 2) / (1 + squared)
    half = quantile / (1 + squared) * math.sqrt(value * (1 - value) / cases + squared / cases / 4)
    return min(value, max(0.0, middle - half)), max(value, min(1.0, middle + half))


@dataclass(frozen=True)
class Bin:
    """The decisions whose confidence is above `low` and at most `high`."""

    low: float
    high: float
    confidence: float
    """Their mean confidence."""
    right: Share


def reliability(
    confidence: ArrayLike, right: ArrayLike, bins: int = BINS, *, groups: Sequence[str] | None = None
) -> tuple[Bin, ...]:
    """The bins of equal width that hold a decision, from the lowest confidence to the highest.

    A confidence of 0 belongs to the first bin. Without `groups` each decision counts by itself.
    """
    confidences, hits = _floats(confidence), np.asarray(right, dtype=bool)
    names = np.arange(len(hits)).astype(str) if groups is None else np.asarray(groups)
    edges = np.linspace(0, 1, bins + 1)
    places = np.clip(np.searchsorted(edges, confidences, side="left") - 1, 0, bins - 1)
    return tuple(
        Bin(
            low=float(edges[place]),
            high=float(edges[place + 1]),
            confidence=float(confidences[places == place].mean()),
            right=share_of(hits[places == place].tolist(), names[places == place].tolist()),
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


def paired_p_value(first: Sequence[bool], second: Sequence[bool], groups: Sequence[str]) -> float:
    """How likely chance alone makes two runs over the same tasks differ so far in their right answers.

    Two-sided and exact: were the two alike, each group's answers could as well have come the other way round,
    all of a group together. Counted are the ways to turn the groups in which the difference is at least as
    large. Where each task is a group of its own this is McNemar's exact test (a randomisation test by
    clusters: M. Gail and others, 1996, Statistics in Medicine 15, 1069-1092).
    """
    difference = np.asarray(first, dtype=np.int64) - np.asarray(second, dtype=np.int64)
    _, places = np.unique(groups, return_inverse=True)
    of_groups = np.bincount(places, difference).astype(np.int64)
    largest = int(np.abs(of_groups).sum())
    ways = np.zeros(2 * largest + 1)  # probability of each difference, from -largest to largest
    ways[largest] = 1.0
    for step in np.abs(of_groups[of_groups != 0]):
        ways = (np.roll(ways, step) + np.roll(ways, -step)) / 2  # what would wrap round is still 0
    reached = np.abs(np.arange(-largest, largest + 1)) >= abs(int(difference.sum()))
    return min(1.0, float(ways[reached].sum()))


def holm(p_values: Sequence[float]) -> tuple[float, ...]:
    """Adjusted for their number: below 0.05 all together are wrong by chance in at most 5 % of the cases.

    Step-down, which takes nothing for granted of how the tests hang together (S. Holm, 1979, Scandinavian
    Journal of Statistics 6, 65-70).
    """
    adjusted = [0.0] * len(p_values)
    reached = 0.0
    for step, place in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        reached = max(reached, min(1.0, (len(p_values) - step) * p_values[place]))
        adjusted[place] = reached
    return tuple(adjusted)


def _floats(values: ArrayLike) -> Floats:
    return np.asarray(values, dtype=np.float64)
