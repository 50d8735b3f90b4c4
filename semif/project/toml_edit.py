"""Setting keys of a TOML table in place: comments, order and everything else of the file stay."""

import json
import re
import tomllib
from collections.abc import Mapping
from datetime import date

from semif.errors import SemifError

TomlValue = str | int | date

_STRING = r'"(?:[^"\\]|\\.)*"'


def with_keys(text: str, table: str, values: Mapping[str, TomlValue | None]) -> str:
    """`text` with `values` in `[table]`: a key that is there changes its value, a new one follows the key
    named before it in `values`, None takes a key out.

    It knows tables and one-line values, as the project's files have them. What it made is read back:
    raises SemifError where the file would not say exactly what was wanted.
    """
    lines = text.removesuffix("\n").split("\n")
    begin, end = _span(lines, table)
    place = begin
    for key, value in values.items():
        key_line = next(
            (at for at in range(begin, end) if re.match(rf"\s*{re.escape(key)}\s*=", lines[at])), None
        )
        if value is None:
            if key_line is not None:
                del lines[key_line]
                end -= 1
        elif key_line is None:
            lines.insert(place, f"{key} = {toml_value(value)}")
            place, end = place + 1, end + 1
        else:
            lines[key_line] = _replaced(lines[key_line], value)
            place = key_line + 1
    edited = "\n".join(lines) + "\n"
    if _parsed(edited) != _wanted(text, table, values):
        keys = ", ".join(f"{key} = {toml_value(value)}" for key, value in values.items() if value is not None)
        raise SemifError(f"[{table}] is not written as simply as this command can edit; set there {keys}")
    return edited


def toml_value(value: TomlValue) -> str:
    """`value` as TOML has it; a whole number above 9,999 with underscores."""
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return value.isoformat() if isinstance(value, date) else (f"{value:_}" if value > 9_999 else str(value))


def _span(lines: list[str], table: str) -> tuple[int, int]:
    """First line after the table's header, and the line at which the next table begins."""
    header = re.compile(rf"\s*\[\s*{re.escape(table)}\s*\]\s*(#.*)?")
    begin = next((at + 1 for at, line in enumerate(lines) if header.fullmatch(line)), None)
    if begin is None:
        raise SemifError(f"there is no [{table}] to edit; add the table first")
    end = next((at for at in range(begin, len(lines)) if lines[at].lstrip().startswith("[")), len(lines))
    return begin, end


def _replaced(line: str, value: TomlValue) -> str:
    """`line` with another value; a line that begins a longer value as it was, which the caller finds out."""
    parts = re.fullmatch(rf"([^=]*=\s*)(?:{_STRING}|[^#\"]*?)(\s*(?:#.*)?)", line, re.DOTALL)
    return f"{parts[1]}{toml_value(value)}{parts[2]}" if parts else line


def _wanted(text: str, table: str, values: Mapping[str, TomlValue | None]) -> dict[str, object]:
    content = tomllib.loads(text)
    content[table] = {**content[table], **values}
    content[table] = {key: value for key, value in content[table].items() if value is not None}
    return content


def _parsed(text: str) -> dict[str, object] | None:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return None
