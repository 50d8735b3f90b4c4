"""Interleaved rounds: each case is given to everybody in turn before the next."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from bench.engine.contenders.contender import Contender, PreparedCase
from bench.engine.measuring.cpu_time import cpu_seconds
from bench.engine.measuring.plan import KEPT_ROUNDS

Clock = Literal["cpu", "wall"]
"""Which seconds count: of the CPU, unless a GPU does the work."""


@dataclass
class Samples:
    """Seconds of one contender in one case, a value a round."""

    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)

    def of(self, clock: Clock) -> list[float]:
        """By one of the two."""
        return self.cpu if clock == "cpu" else self.wall


@dataclass(frozen=True)
class Quartiles:
    """Median and quartiles of the rounds."""

    low: float
    median: float
    high: float
    rounds: int

    @classmethod
    def of(cls, values: Sequence[float]) -> "Quartiles":
        """Of at least one value, one a round."""
        low, median, high = np.quantile(values, (0.25, 0.5, 0.75))
        return cls(float(low), float(median), float(high), len(values))

    def shown(self, digits: int = 2, scale: float = 1.0) -> str:
        """The median times `scale`; behind it the quartiles, which say nothing of a few rounds."""
        median, low, high = (f"{value * scale:.{digits}f}" for value in (self.median, self.low, self.high))
        return f"{median} ({low}-{high})" if self.rounds >= KEPT_ROUNDS else median


Results = dict[str, dict[str, Samples]]
"""By case, then by contender."""


Taken = dict[str, tuple[float, float]]
"""Seconds and CPU seconds by contender."""


def measure_case(prepared: PreparedCase, contenders: Sequence[Contender], first: int) -> dict[str, Taken]:
    """What everybody takes who takes part, by case: this one and its follow-up, where it has one.

    The contender at place `first`, modulo, begins.
    """
    able = [contender for contender in contenders if contender.covers(prepared.case)]
    in_turn = [able[place % len(able)] for place in range(first, first + len(able))]
    taken: dict[str, Taken] = {}
    for contender in in_turn:
        part: PreparedCase | None = prepared
        while part is not None:
            taken.setdefault(part.case.name, {})[contender.name] = _seconds(contender, part)
            part = part.follow_up
    return {case: {contender.name: by[contender.name] for contender in able} for case, by in taken.items()}


def _seconds(contender: Contender, prepared: PreparedCase) -> tuple[float, float]:
    cpu, wall = cpu_seconds(contender.pid), time.perf_counter()
    scale = contender.run(prepared)
    wall, cpu = time.perf_counter() - wall, cpu_seconds(contender.pid) - cpu
    return wall * scale, cpu * scale


def times_as_fast(samples: dict[str, Samples], subject: str, baseline: str, clock: Clock) -> Quartiles | None:
    """How many times as fast `subject` was, from the rounds' own ratios; None where one was not measured."""
    if subject not in samples or baseline not in samples:
        return None
    return ratio(samples[baseline].of(clock), samples[subject].of(clock))


def ratio(above: Sequence[float], below: Sequence[float]) -> Quartiles:
    """Of two values a round."""
    return Quartiles.of([one / other for one, other in zip(above, below, strict=True)])
