"""Typed TOML files: read once, every problem of a file reported at once."""

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from semif.errors import ProblemsError, SemifError, problems_of
from semif.project.whole_files import read_whole, utf8

FileModel = TypeVar("FileModel", bound=BaseModel)

_MOST_PARTS = 64
_DEEP_KEY = re.compile(rb"^[\s\[{,]*(?:[^\s=.#\[\]{}]+\s*\.\s*){%d}" % _MOST_PARTS, re.MULTILINE)
MAX_FILE_BYTES = 1_048_576
MAX_NUMBER_BITS = 10_000
_LONG_NUMBER = "holds a number with thousands of digits, which no key takes"


def read_toml(path: Path, model: type[FileModel], fixed: Mapping[str, object] | None = None) -> FileModel:
    """Read `path` as a `model`; `fixed` adds keys that the file itself must not set (its name, say).

    Raises ProblemsError, which names every problem of the file, or SemifError where it cannot be read.
    """
    content = parse_toml(path)
    taken = sorted(set(content) & set(fixed or {}))
    problems = [f"{', '.join(taken)} must not be set in the file; remove it"] if taken else []
    try:
        read = model.model_validate({**content, **(fixed or {})})
    except ValidationError as error:
        problems += problems_of(error)
    if problems:
        raise ProblemsError(path, problems)
    return read


def parse_toml(path: Path) -> dict[str, Any]:
    """The tables of `path` as they are. Raises SemifError where it cannot be read, or is no TOML."""
    text = read_whole(path, MAX_FILE_BYTES)
    if _DEEP_KEY.search(text):  # tomllib takes seconds for thousands of parts
        raise SemifError(f"{path} has a key of more than {_MOST_PARTS} parts, which no such file needs")
    try:
        content = tomllib.loads(utf8(text, path).decode())
    except UnicodeDecodeError as error:
        raise SemifError(f"{path} is not UTF-8 text: byte {error.start} is wrong") from None
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise SemifError(f"{path} is not TOML: {str(error)[:1].lower()}{str(error)[1:]}") from None
    except ValueError:  # Python reads no decimal of more than 4,300 digits
        raise SemifError(f"{path} {_LONG_NUMBER}") from None
    if _holds_long_number(content):
        raise SemifError(f"{path} {_LONG_NUMBER}")
    return content


def _holds_long_number(content: dict[str, Any]) -> bool:
    """Whether there is one that Python reads (hexadecimal, say) and then cannot write into a message."""
    waiting: list[Any] = [content]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            waiting.extend(value.values())
        elif isinstance(value, list):
            waiting.extend(value)
        elif isinstance(value, int) and value.bit_length() > MAX_NUMBER_BITS:
            return True
    return False
