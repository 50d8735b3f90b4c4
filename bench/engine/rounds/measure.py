"""Interleaved rounds: each case is given to everybody in turn before the next."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from bench.engine.contenders.contender import Contender, PreparedCase
from bench.engine.measuring.cpu_time import cpu_seconds


@dataclass
class Samples:
    """Seconds of one contender in one case, a value a round."""

    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)


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
        """The median times `scale`; behind it the quartiles, which say nothing where there is one round."""
        median, low, high = (f"{value * scale:.{digits}f}" for value in (self.median, self.low, self.high))
        return f"{median} ({low}-{high})" if self.rounds > 1 else median


Results = dict[str, dict[str, Samples]]
"""By case, then by contender."""


def run_round(
    number: int,
    prepared_cases: Sequence[PreparedCase],
    contenders: Sequence[Contender],
    results: Results,
    finished: Callable[[PreparedCase], None],
) -> None:
    """Measure every contender once in every job; who begins changes from round to round."""
    for place, prepared in enumerate(prepared_cases):
        able = [contender for contender in contenders if contender.covers(prepared.case)]
        by = results.setdefault(prepared.case.name, {})
        for contender in able:
            by.setdefault(contender.name, Samples())
        first = (number + place) % len(able)
        for contender in able[first:] + able[:first]:
            cpu, wall = cpu_seconds(contender.pid), time.perf_counter()
            scale = contender.run(prepared)
            wall, cpu = time.perf_counter() - wall, cpu_seconds(contender.pid) - cpu
            by[contender.name].wall.append(wall * scale)
            by[contender.name].cpu.append(cpu * scale)
        finished(prepared)


def times_as_fast(samples: dict[str, Samples], subject: str, baseline: str) -> Quartiles | None:
    """How many times as fast `subject` was, from the rounds' own ratios; None where one was not measured."""
    if subject not in samples or baseline not in samples:
        return None
    return ratio(samples[baseline].wall, samples[subject].wall)


def ratio(above: Sequence[float], below: Sequence[float]) -> Quartiles:
    """Of two values a round."""
    return Quartiles.of([one / other for one, other in zip(above, below, strict=True)])
