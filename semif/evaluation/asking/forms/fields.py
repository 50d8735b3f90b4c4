"""What the replies of many servers have in common, read with care: none of it is sure to be there."""

import math
import sys
from collections.abc import Sequence
from typing import Any, TypeGuard

from semif_adapter.contract.errors import InvalidRequestError
from semif_adapter.contract.request_problems import path_text
from semif_adapter.contract.strict_json import read_json

MOST_OFF = 0.02
"""How far a sum of probabilities may be from 1: servers that round to two decimals exist."""


def problem_of(probabilities: Sequence[Any], count: int) -> str | None:
    """Why these are no probabilities of `count` options; None where they are."""
    if len(probabilities) != count:
        return f"{len(probabilities)} probabilities for {count} options"
    if not all(_is_number(value) and 0 <= value <= 1 for value in probabilities):
        return "a probability is not between 0 and 1"
    if not math.isclose(math.fsum(probabilities), 1, abs_tol=MOST_OFF):
        return "the probabilities do not add up to 1"
    return None


def read_reply(reply: bytes, name: str = "the reply") -> Any:
    """The JSON in a reply, or in what else `name` says.

    Raises ValueError for none, and for what no run file could hold: NaN, half characters.
    """
    try:
        return read_json(reply, lambda _: False)
    except InvalidRequestError as error:
        places = ((path_text(problem.location), problem.message) for problem in error.problems)
        told = [f"{name}: {place} {what}" if place else f"{name} {what}" for place, what in places]
        raise ValueError("; ".join(told)) from None


def model_name(reply: bytes) -> str | None:
    """What a reply calls its model."""
    try:
        name = read_reply(reply)["model"]
    except (ValueError, LookupError, TypeError):
        return None
    return name if isinstance(name, str) else None


def object_of(value: object) -> dict[str, Any]:
    """`value` if it is an object, an empty one otherwise."""
    return value if isinstance(value, dict) else {}


def count_of(value: object) -> int | None:
    """`value` if it is a whole number from 0 on."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def seconds_of(value: object) -> float | None:
    """`value` if it is a finite number from 0 on."""
    return float(value) if _is_number(value) and 0 <= value <= sys.maxsize else None


def share_of(value: object) -> float | None:
    """`value` if it is a number from 0 to 1, give or take what sums of floats are off."""
    share = seconds_of(value)
    return min(share, 1.0) if share is not None and share < 1 + MOST_OFF else None


def _is_number(value: object) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)
