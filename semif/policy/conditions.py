"""Conditions on a state's fields: what a rule compares, and what it says where it cannot.

A condition is data (a field, an operator, a value) and never code from a file. Its verdict is that it holds,
that it does not, or that it cannot be judged: the field is missing, or is not what the operator compares.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, field_validator, model_validator

from semif.client.values.states import as_json_value
from semif.errors import shown
from semif_adapter.contract.wire import WireModel

Scalar = str | int | float | bool
ConditionValue = Scalar | tuple[Scalar, ...]
Operator = Literal["==", "!=", "<", "<=", ">", ">=", "in", "not in", "contains", "lacks", "present", "absent"]

ORDERS: tuple[Operator, ...] = ("<", "<=", ">", ">=")
MAX_PATH = 256
MAX_VALUES = 100
"""Longest list that `in` and `not in` look into."""
_EXISTENCE: tuple[Operator, ...] = ("present", "absent")
_NEGATIONS: dict[Operator, Operator] = {"!=": "==", "not in": "in", "lacks": "contains"}


@dataclass(frozen=True)
class Unjudged:
    """Why a condition cannot be judged: the field and its type, never what stands in it."""

    reason: str


def _as_path(text: str) -> str:
    if not all(text.split(".")) or len(text) > MAX_PATH:
        raise ValueError(f"{shown(text)} is no path: keys with dots between, as in order.amount")
    return text


class Condition(WireModel):
    """One comparison, as in `order.amount > 500`."""

    field: Annotated[str, AfterValidator(_as_path)]
    """Keys of the state's objects with dots between, a number for an entry of a list: `items.0.price`."""
    op: Operator
    """`<`, `<=`, `>` and `>=` compare numbers; `==` and `!=` numbers, texts, true or false; `in` and `not in`
    look for the field in a list of those; `contains` and `lacks` look in the field, a text or a list;
    `present` and `absent` take no value, null counts as absent. Case matters."""
    value: ConditionValue | None = None
    """What the field is compared with: a text, a number, true or false, or a list of those."""

    @field_validator("value", mode="before")
    @classmethod
    def _as_value(cls, raw: Any) -> Any:
        """One message for all that no operator takes, not one for each type that it might have been."""
        value = tuple(raw) if isinstance(raw, list) else raw
        entries = value if isinstance(value, tuple) else (value,)
        if value is not None and any(kind_of(entry) not in _SCALAR_KINDS for entry in entries):
            raise ValueError(f"{shown(raw)} is no number, no text, not true or false, and no list of those")
        return value

    @model_validator(mode="after")
    def _value_fits_operator(self) -> Self:
        if wrong := self._misfit():
            raise ValueError(f"{self._shown_value} does not go with {self.op!r}, which {wrong}")
        return self

    def _misfit(self) -> str | None:
        """What the operator takes, where that is not the value."""
        kinds = {kind_of(entry) for entry in self.values}
        match self.op:
            case "present" | "absent":
                return "takes no value" if self.value is not None else None
            case "in" | "not in":
                whole = isinstance(self.value, tuple) and len(kinds) == 1 and len(self.value) <= MAX_VALUES
                return None if whole else f"takes a list of 1 to {MAX_VALUES} values of one type"
            case "<" | "<=" | ">" | ">=":
                return None if kind_of(self.value) == "a number" else "takes a number"
            case _:
                return (
                    None if kind_of(self.value) in _SCALAR_KINDS else "takes a number, a text, true or false"
                )

    @property
    def values(self) -> tuple[Scalar, ...]:
        """The value as a list: its entries, itself alone, or nothing."""
        if self.value is None:
            return ()
        return self.value if isinstance(self.value, tuple) else (self.value,)

    def judge(self, state: object) -> bool | Unjudged:
        """Whether it holds for `state`."""
        content = value_at(state, self.field)
        if self.op in _EXISTENCE:
            return (content is not None) == (self.op == "present")
        if content is None:
            return Unjudged(f"{self.field} is missing")
        return self.compare(content)

    def compare(self, content: object) -> bool | Unjudged:
        """Whether it holds for a field that is there, with this `content`."""
        op = _NEGATIONS.get(self.op, self.op)
        kind, wanted = kind_of(content), kind_of(self.values[0])
        if op == "contains" and isinstance(content, list | tuple):
            verdict = any(kind_of(entry) == wanted and entry == self.values[0] for entry in content)
        elif op == "contains" and kind != "a text":
            return Unjudged(f"{self.field} is {kind}, {self.op} looks in a text or a list")
        elif kind != wanted:
            return Unjudged(f"{self.field} is {kind}, {self.op} compares with {wanted}")
        else:
            verdict = _COMPARISONS[op](content, self.value)
        return verdict != (op != self.op)

    def __str__(self) -> str:
        """As a person would write it."""
        if self.op in _EXISTENCE:
            return f"{self.field} is {self.op}"
        return f"{self.field} {self.op} {self._shown_value}"

    @property
    def _shown_value(self) -> str:
        if self.value is None:
            return "no value"
        return shown(list(self.value) if isinstance(self.value, tuple) else self.value)


_COMPARISONS: dict[Operator, Callable[[Any, Any], bool]] = {
    "==": lambda content, value: content == value,
    "in": lambda content, value: content in value,
    "contains": lambda content, value: value in content,
    "<": lambda content, value: content < value,
    "<=": lambda content, value: content <= value,
    ">": lambda content, value: content > value,
    ">=": lambda content, value: content >= value,
}
_SCALAR_KINDS = ("a number", "a text", "true or false")
_KINDS: tuple[tuple[tuple[type, ...], str], ...] = (
    ((bool,), "true or false"),  # before int, which it is to Python
    ((int, float), "a number"),
    ((str,), "a text"),
    ((Mapping,), "an object"),
    ((list, tuple), "a list"),
)


def kind_of(value: object) -> str:
    """What a value is to an operator. NaN and the infinities are no numbers: nothing compares with them."""
    if isinstance(value, float) and not math.isfinite(value):
        return "no finite number"
    return next((kind for types, kind in _KINDS if isinstance(value, types)), "nothing that JSON has")


def value_at(state: object, field: str) -> object | None:
    """What stands at `field`, None where nothing or null does."""
    node: object | None = as_json_value(state)
    for step in field.split("."):
        if isinstance(node, Mapping):
            node = node.get(step)
        elif isinstance(node, list | tuple) and step.isascii() and step.isdigit():
            node = node[int(step)] if len(step) < 10 and int(step) < len(node) else None
        else:
            return None
        node = as_json_value(node)
    return node
