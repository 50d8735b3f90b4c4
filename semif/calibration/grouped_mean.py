"""A mean over tasks with an interval that knows that tasks of one group resemble each other."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import bootstrap

from semif.errors import SemifError
from semif.evaluation.figures.measures import CONFIDENCE_LEVEL, Floats, share_of

RESAMPLES = 2000


@dataclass(frozen=True)
class Mean:
    """A mean and its 95 % interval, in the unit of the values."""

    value: float
    low: float
    high: float


def grouped_mean(values: ArrayLike, groups: Sequence[str]) -> Mean:
    """The mean of `values`, one for each task; the bootstrap draws whole groups, with a fixed seed.

    Raises SemifError where there is one group only.
    """
    of_tasks = np.asarray(values, dtype=np.float64)
    names, places = np.unique(groups, return_inverse=True)
    if len(names) < 2:
        raise SemifError("all tasks are of one group, which says nothing about others; take tasks of more")
    sums, counts = np.bincount(places, of_tasks, len(names)), np.bincount(places, minlength=len(names))

    def mean(sums: Floats, counts: Floats, axis: int) -> Floats:
        return np.asarray(sums.sum(axis) / counts.sum(axis))

    interval = bootstrap(
        (sums, counts),
        mean,
        paired=True,
        vectorized=True,
        confidence_level=CONFIDENCE_LEVEL,
        n_resamples=RESAMPLES,
        method="percentile",
        rng=np.random.default_rng(0),
    ).confidence_interval
    return Mean(float(of_tasks.mean()), float(interval.low), float(interval.high))


def grouped_difference(hits: Sequence[bool], others: Sequence[bool], groups: Sequence[str]) -> Mean:
    """The share of `hits` less that of `others`, which pair by task; the interval is for whole groups.

    It is put together of those of the share that is won and the share that is lost, Wilson's as `share_of`
    has them, by the method of variance estimates recovery (G. Y. Zou, A. Donner, 2008,
    doi:10.1002/sim.3095). Unlike the bootstrap's it keeps its width where no pair differs: about 4 / n to
    both sides.
    """
    pairs = list(zip(hits, others, strict=True))
    won = share_of([hit and not other for hit, other in pairs], groups)
    lost = share_of([other and not hit for hit, other in pairs], groups)
    value, odds = won.value - lost.value, 0.0
    if won.part and lost.part:  # both are less than 1 then
        odds = won.value / (1 - won.value) * lost.value / (1 - lost.value)

    def width(of_won: float, of_lost: float) -> float:
        """What is won is not lost: the shares correlate by the root of `odds`, negatively."""
        return math.sqrt(of_won**2 + of_lost**2 + 2 * math.sqrt(odds) * of_won * of_lost)

    return Mean(
        value,
        max(-1.0, value - width(won.value - won.low, lost.high - lost.value)),
        min(1.0, value + width(won.high - won.value, lost.value - lost.low)),
    )
