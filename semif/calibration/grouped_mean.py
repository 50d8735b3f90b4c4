"""A mean over tasks with an interval that knows that tasks of one group resemble each other."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import bootstrap

from semif.errors import SemifError
from semif.evaluation.report.measures import CONFIDENCE_LEVEL, Floats

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
