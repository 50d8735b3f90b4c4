"""The one kind of failure that people are told about, and how the problems of a file are worded."""

import re
from collections.abc import Iterable, Sequence, Sized
from pathlib import Path

from pydantic import ValidationError
from pydantic_core import ErrorDetails

MAX_SHOWN = 120
"""Longest value or key that a message quotes, in characters."""
MAX_TOLD = 20
"""Most problems of a file of many lines that a message spells out."""
MAX_LISTED = 100
"""Most problems of any file: whoever meets more has the wrong file."""
_NO_TABLE = "must be a table (in JSON an object)"
_WORDINGS = {
    "model_type": _NO_TABLE,
    "model_attributes_type": _NO_TABLE,
    "dict_type": _NO_TABLE,
    "string_type": "must be text in quotes",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "bool_type": "must be true or false",
    "list_type": "must be a list",
    "tuple_type": "must be a list",
}
"""For pydantic's error types whose own words speak of Python."""
UNKNOWN_KEY = "unknown_key"
"""The type of an error, raised by us, whose message goes on after the key: `is not a known key, …`."""
_LENGTHS = {"too_short": ("at least", "min_length"), "too_long": ("at most", "max_length")}
"""For a list or table of a wrong length: how its bound is said, and pydantic's name of the bound."""
_OF_A_KEY = "[key]"
"""What pydantic adds to the path where a key is wrong, and not its value."""
_SUBJECT = re.compile(r"^(?:Input|String|List|Tuple|Dictionary|Value) should ")
_STEERING = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
"""The control characters, but line ends and tabs."""
_IN_FILES = {True: "true", False: "false", None: "null"}


class SemifError(Exception):
    """A failure with a message for people: what is wrong, the value, what is allowed, what to change.

    Commands print it as `semif: <message>` and exit with status 1; any other exception is a defect of Semif.
    """


class ProblemsError(SemifError):
    """All problems of one source (a file, a set of props), reported at once.

    `problems` holds one line for each, in the order of the source's fields. The message has the first `told`
    of them.
    """

    def __init__(self, source: str | Path, problems: Iterable[str], *, told: int = MAX_LISTED) -> None:
        self.source = str(source)
        self.problems = tuple(problems)
        if len(self.problems) == 1:
            super().__init__(f"{self.source}: {self.problems[0]}")
        else:
            lines = [f"\n  {problem}" for problem in self.problems[:told]]
            if rest := len(self.problems) - len(lines):
                lines.append(f"\n  and {rest} more")
            super().__init__(f"{self.source} has {len(self.problems)} problems:{''.join(lines)}")


def problems_of(error: ValidationError, *, hidden: Sequence[str] = ()) -> tuple[str, ...]:
    """One line for each problem of `error`: the key, the value received, what is allowed.

    `hidden` names the tags of discriminated unions, which pydantic puts into the path of a key.
    """
    return tuple(
        _problem(details, hidden) for details in error.errors(include_url=False) if not _is_miscount(details)
    )


def _is_miscount(details: ErrorDetails) -> bool:
    """Whether a list is only too short by its wrong entries, which pydantic does not count."""
    if details["type"] != "too_short" or not isinstance(details["input"], Sized):
        return False
    return len(details["input"]) >= int(details["ctx"]["min_length"])


def _problem(details: ErrorDetails, hidden: Sequence[str]) -> str:
    key = ".".join(_key(part) for part in details["loc"] if part not in (*hidden, _OF_A_KEY))
    message = details["msg"].removeprefix("Value error, ").removeprefix("Assertion failed, ")
    if details["type"] == "missing":
        return f"{key} is missing"
    if details["type"] == "extra_forbidden":
        return f"{key} is not a known key, remove it or check its spelling"
    if details["type"] == UNKNOWN_KEY:
        return f"{key} {message}"
    if details["type"] == "value_error":  # our own validators say the value themselves
        return f"{key}: {message}" if key else message
    if details["type"] in _LENGTHS and isinstance(details["input"], Sized):
        word, bound = _LENGTHS[details["type"]]
        return f"{key} has {len(details['input'])} entries, allowed are {word} {details['ctx'][bound]}"
    message = _WORDINGS.get(details["type"], _SUBJECT.sub("must ", message))
    return f"{f'{key} = ' if key else ''}{_value(details['input'])}: {message[0].lower()}{message[1:]}"


def _value(value: object) -> str:
    """The value as a file has it: Python's names are not TOML's and JSON's."""
    return _IN_FILES[value] if value is None or isinstance(value, bool) else shown(value)


def _key(part: int | str) -> str:
    """One step of a key's path; quoted where it could not stand in a line, or in a terminal, as it is."""
    text = str(part)
    return text if text and text.isprintable() and len(text) <= MAX_SHOWN else shown(text)


def shown(value: object) -> str:
    """`value` as an error message may quote it: its repr, cut where it is long."""
    text = repr(value)
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}… ({len(text)} characters)"


def printable(text: str) -> str:
    """Foreign text as one line that a terminal may show: a replacement character for what would steer it."""
    line = " ".join(text.split())
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in line)


def harmless(text: str) -> str:
    """Foreign text of several lines as a terminal may show it: a replacement character for other controls."""
    return _STEERING.sub("\N{REPLACEMENT CHARACTER}", text)


class PinError(SemifError, ValueError):
    """A reference that does not pin what it names."""
