"""Which conditions follow from others: how a rule that can never decide is found.

It compares conditions on the same field, two at a time, and claims only what is sure. What it does not find
(three conditions that together exclude each other, say) is not reported.
"""

from collections.abc import Sequence
from itertools import combinations

from semif.policy.conditions import ORDERS, Condition, kind_of
from semif.policy.rules import When


def covers(earlier: Sequence[When], later: Sequence[When]) -> bool:
    """Whether all of `earlier` hold wherever all of `later` do. No conditions always hold."""
    return all(any(implies(one, other) for one in later) for other in earlier)


def contradiction(when: Sequence[When]) -> tuple[When, When] | None:
    """Two conditions of a rule that never hold together, None where none were found."""
    return next((pair for pair in combinations(when, 2) if _exclude(*pair)), None)


def implies(one: When, other: When) -> bool:
    """Whether `other` holds wherever `one` does."""
    if not isinstance(one, Condition) or not isinstance(other, Condition):
        return one is other
    if one.field != other.field:
        return False
    return _same(one, other) or (one.op != "absent" and other.op != "absent" and _follows(other, one))


def _follows(other: Condition, one: Condition) -> bool:
    """Whether `other` holds for every field, that is there, for which `one` does."""
    if other.op == "present":
        return True
    if one.op in ("==", "in"):
        return all(other.compare(value) is True for value in one.values)
    if other.op in ("!=", "not in"):
        return one.op in ("!=", "not in", *ORDERS) and all(one.compare(v) is False for v in other.values)
    if one.op in ORDERS and other.op in ORDERS and one.op[0] == other.op[0]:
        return other.compare(one.values[0]) is True or (one.op in ("<", ">") and one.values == other.values)
    return False


def _exclude(one: When, other: When) -> bool:
    """Whether the two never hold together."""
    if not isinstance(one, Condition) or not isinstance(other, Condition) or one.field != other.field:
        return False
    if "absent" in (one.op, other.op):
        return one.op != other.op
    for fixed, free in ((one, other), (other, one)):
        if fixed.op in ("==", "in"):
            return free.op != "present" and not any(free.compare(value) is True for value in fixed.values)
    if one.op in ORDERS and other.op in ORDERS and one.op[0] != other.op[0]:
        low, high = (one, other) if one.op[0] == ">" else (other, one)
        if low.values == high.values:
            return "=" not in low.op or "=" not in high.op
        return low.values > high.values
    return False


def _same(one: Condition, other: Condition) -> bool:
    """Equality without Python's `1 == True`."""
    return one == other and [*map(kind_of, one.values)] == [*map(kind_of, other.values)]
