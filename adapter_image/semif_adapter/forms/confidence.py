"""How sure an answer is, from its probabilities alone; the formulas of the System One API."""

from collections.abc import Callable, Sequence
from typing import Literal

Confidence = Literal["reference", "peak"]
"""How sure a score is: by the spread around its most likely level, or by that level's probability alone.

A choice's confidence is the latter in both: its options have no distances.
"""


def of_score(confidence: Confidence) -> Callable[[Sequence[float]], float]:
    """The formula that `confidence` names for a score."""
    return spread if confidence == "reference" else peak


def peak(probabilities: Sequence[float]) -> float:
    """How far the largest of two or more probabilities is above an even share: 0 to 1."""
    even = 1 / len(probabilities)
    return _bounded((max(probabilities) - even) / (1 - even))


def spread(probabilities: Sequence[float]) -> float:
    """How closely two or more levels gather around the most likely one, 1; 0 where no closer than evenly."""
    count = len(probabilities)
    best = max(range(count), key=probabilities.__getitem__)
    distance = sum(probability * abs(level - best) for level, probability in enumerate(probabilities))
    even = sum(abs(level - (count - 1) / 2) for level in range(count)) / count
    return _bounded(1 - distance / even)


def expected_level(probabilities: Sequence[float]) -> float:
    """The mean level, 0 to one less than their number."""
    return sum(level * probability for level, probability in enumerate(probabilities))


def _bounded(value: float) -> float:
    return min(1.0, max(0.0, value))
