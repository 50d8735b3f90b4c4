"""States as programs have them: models of pydantic, dataclasses, dates, numbers of other libraries.

numpy and pandas are known by what their values offer: neither is needed.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import date, datetime, time
from decimal import Decimal
from enum import Enum
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeAlias
from uuid import UUID

from pydantic import BaseModel

if TYPE_CHECKING:

    class Dataclass(Protocol):
        """Any instance of a dataclass."""

        __dataclass_fields__: ClassVar[dict[str, Any]]


State: TypeAlias = "str | Mapping[str, Any] | Sequence[Any] | BaseModel | Dataclass"
"""What a decision is about: text, an object or an array, with any values that `as_json_value` knows in it."""


def as_json_value(value: Any) -> Any:
    """`value` with its outermost type as JSON has it: what is in an object or a list may still be foreign.

    What JSON has, and what nobody knows, comes back as it is. Dates are ISO 8601; a Decimal is a number, to
    the 17 digits that a double holds; what pandas and numpy have for "no value" is null.
    """
    if value is None or type(value) in (str, bool, int, float, dict, list, tuple):
        return value
    for known, convert in _CONVERSIONS:
        if isinstance(value, known):
            return convert(value)
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    return _of_numpy_or_pandas(value)


def _of_numpy_or_pandas(value: Any) -> Any:
    if type(value).__module__.partition(".")[0] == "pandas" and type(value).__name__ == "NAType":
        return None
    kind = getattr(getattr(value, "dtype", None), "kind", None)
    if kind is None or getattr(value, "shape", None) != ():
        return value
    if kind in "Mm":  # dates and spans of time: `item` would make a number of those in nanoseconds
        return None if str(value) == "NaT" else str(value)
    return value.item()


def _decimal(number: Decimal) -> int | float:
    return int(number) if number.is_finite() and number == number.to_integral_value() else float(number)


def _date(moment: date | time) -> str | None:
    """pandas' NaT is a date to Python."""
    text = moment.isoformat()
    return None if text == "NaT" else text


_CONVERSIONS: tuple[tuple[type | tuple[type, ...], Callable[[Any], Any]], ...] = (
    (BaseModel, lambda model: model.model_dump(mode="json")),
    (Enum, lambda member: as_json_value(member.value)),
    ((datetime, date, time), _date),
    (Decimal, _decimal),
    (UUID, str),
    (Mapping, dict),
)


def json_default(value: object) -> object:
    """For `json.dumps`. Raises TypeError for what nobody knows."""
    known = as_json_value(value)
    if known is value:
        raise TypeError(f"Object of type {type(value).__name__} is not JSON serializable")
    return known
