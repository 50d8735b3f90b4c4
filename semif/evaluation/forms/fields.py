"""What the replies of many servers have in common, read with care: none of it is sure to be there."""

import json
import math
from collections.abc import Sequence
from typing import Any

MOST_OFF = 0.02
"""How far a sum of probabilities may be from 1: servers that round to two decimals exist."""


def problem_of(probabilities: Sequence[Any], count: int) -> str | None:
    """Why these are no probabilities of `count` options; None where they are."""
    if len(probabilities) != count:
        return f"{len(probabilities)} probabilities for {count} options"
    if not all(isinstance(value, int | float) and 0 <= value <= 1 for value in probabilities):
        return "a probability is not between 0 and 1"
    if not math.isclose(math.fsum(probabilities), 1, abs_tol=MOST_OFF):
        return "the probabilities do not add up to 1"
    return None


def most_probable(option_ids: Sequence[str], probabilities: Sequence[float]) -> str:
    """The option with the largest probability, the first of them where several are."""
    return option_ids[max(range(len(probabilities)), key=probabilities.__getitem__)]


def model_name(reply: bytes) -> str | None:
    """What a reply calls its model."""
    try:
        name = json.loads(reply)["model"]
    except (ValueError, LookupError, TypeError, RecursionError):
        return None
    return name if isinstance(name, str) else None


def object_of(value: object) -> dict[str, Any]:
    """`value` if it is an object, an empty one otherwise."""
    return value if isinstance(value, dict) else {}


def whole(value: object) -> int | None:
    """`value` if it is a whole number."""
    return value if type(value) is int else None


def number(value: object) -> float | None:
    """`value` if it is a finite number."""
    return float(value) if type(value) in (int, float) and math.isfinite(value) else None  # type: ignore[arg-type]
