"""What the wire calls an option that a program has as a string, a member of an Enum, or true or false."""

from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from typing import Any, cast

_BOOLS = {True: "yes", False: "no"}
_DESCRIBED = 2
"""Length of an Enum's value that is an id with its description."""


def option_id(choice: object) -> object:
    """The id of an option: a string, where the option can be one.

    A member's is its value, or the first of an id and a description; True is `yes`, False `no`.
    """
    if isinstance(choice, bool):
        return _BOOLS[choice]
    if not isinstance(choice, Enum):
        return choice
    return choice.value[0] if _is_described(choice) else choice.value


def own_description(choice: object) -> object | None:
    """What a member of an Enum says of itself: the second of its value, or its `description`."""
    if not isinstance(choice, Enum):
        return None
    if _is_described(choice):
        return cast(object, choice.value[1])
    said = getattr(choice, "description", None)
    return said if isinstance(said, str) and not isinstance(said, Enum) else None


def _is_described(member: Enum) -> bool:
    return isinstance(member.value, tuple) and len(member.value) == _DESCRIBED


class ByOption(Mapping[str, float]):
    """Numbers by the ids of options, in request order; a member of an Enum and a bool find theirs too."""

    def __init__(self, ids: Sequence[str], numbers: Sequence[float]) -> None:
        self._numbers = dict(zip(ids, numbers, strict=True))

    def __getitem__(self, option: Any) -> float:
        return self._numbers[option_id(option)]  # type: ignore[index]  # what is no id is in no such mapping

    def __iter__(self) -> Iterator[str]:
        return iter(self._numbers)

    def __len__(self) -> int:
        return len(self._numbers)

    def __repr__(self) -> str:
        return repr(self._numbers)
