"""The rows of a table, whichever form its file has: CSV, Parquet, or JSON Lines.

What the file is, its ending says: `.csv` and `.tsv`, `.parquet`, anything else is JSON Lines. A row is what
its line or record holds, by the names of the columns; cells of CSV are text.
"""

import csv
import io
import json
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import Any

from semif.errors import SemifError, shown
from semif.project.whole_files import utf8
from semif_adapter.contract.errors import InvalidRequestError, Problem
from semif_adapter.contract.request_problems import type_name
from semif_adapter.contract.strict_json import read_json

CSV_ENDINGS = frozenset({".csv", ".tsv"})
PARQUET_ENDING = ".parquet"
_SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs"}
"""Of CSV: a semicolon where a comma stands in numbers, a tab where somebody copied from a sheet."""

_MAX_NAMED = 20
"""Most columns or options that a message names."""

Row = dict[str, Any]
ReadRow = Callable[[], Row]
"""Raises InvalidRequestError where the line is none."""


def is_table(path: Path) -> bool:
    """Whether the file can hold nothing but a table."""
    return path.suffix.lower() in CSV_ENDINGS | {PARQUET_ENDING}


def read_rows(path: Path, content: bytes) -> Iterator[tuple[int, ReadRow]]:
    """Each row of a file's `content` by the number of its line, of Parquet's records by their own from 1 on.

    Raises SemifError where the whole cannot be read: its encoding, a CSV's first line or quotes, a package
    that Parquet needs.
    """
    ending = path.suffix.lower()
    if ending == PARQUET_ENDING:
        return _parquet_rows(path, content)
    plain = utf8(content, path)
    return _csv_rows(path, plain) if ending in CSV_ENDINGS else _json_rows(plain)


def rows_with(
    path: Path, content: bytes, columns: Sequence[tuple[str, str]]
) -> Iterator[tuple[int, ReadRow]]:
    """The rows of a file whose first one has all `columns`, each with the option that names it.

    Raises SemifError for one that it lacks, and as `read_rows`.
    """
    rows = read_rows(path, content)
    for number, read in rows:
        try:
            row = read()
        except InvalidRequestError:  # told with the others
            row = dict.fromkeys(name for name, _ in columns)
        lacking = [f"{shown(name)} ({option})" for name, option in columns if name not in row]
        if lacking:
            raise SemifError(
                f"{path}: its first row has no column {', '.join(lacking)}; its columns are "
                f"{names_of(row)}{_how_read(path, content)}"
            )
        return chain([(number, read)], rows)
    return iter(())


def names_of(names: Collection[str]) -> str:
    """The first of them, and how many more."""
    rest = len(names) - _MAX_NAMED
    return ", ".join([*map(shown, list(names)[:_MAX_NAMED]), *([f"and {rest} more"] if rest > 0 else [])])


def _json_rows(content: bytes) -> Iterator[tuple[int, ReadRow]]:
    for number, line in enumerate(content.split(b"\n"), 1):
        if line.strip():
            yield number, partial(_json_row, line)


def _json_row(line: bytes) -> Row:
    row = read_json(line, lambda _: False, one_line=True)
    if not isinstance(row, dict):
        raise wrong_row(f"must be an object, got {type_name(row)}")
    return row


def _csv_rows(path: Path, content: bytes) -> Iterator[tuple[int, ReadRow]]:
    """By the first line of each row: a cell in quotes may have several."""
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        raise SemifError(f"{path} is not UTF-8: byte {error.start} is wrong; save it as CSV UTF-8") from None
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=_separator(text), strict=True)
    line = 1
    try:
        names = next(rows, [])
        _check_names(path, names)
        line = rows.line_num + 1
        for cells in rows:
            if any(cells):  # Excel writes rows of empty cells below a table that was longer once
                yield line, partial(_csv_row, names, cells)
            line = rows.line_num + 1
    except csv.Error as error:
        raise SemifError(f"{path}: line {line}: {_csv_fault(str(error))}") from None


def _csv_fault(words: str) -> str:
    """What Python's reader says of the row that begins on a line, for people."""
    if "unexpected end" in words:
        return "the quote of one of its cells is never closed; close it, or write it twice where it is meant"
    if "field limit" in words:
        most = f"{csv.field_size_limit():,}"
        return (
            f"one of its cells has more than {most} characters; is a quote not closed? JSON Lines take more"
        )
    if "expected after" in words:
        return "a quote ends one of its cells too early; inside a cell in quotes write it twice"
    return words


def _how_read(path: Path, content: bytes) -> str:
    """What a CSV file's first line is read as separated by, for a message of its columns."""
    if path.suffix.lower() not in CSV_ENDINGS:
        return ""
    between = _SEPARATORS[_separator(content.decode(errors="replace"))]
    return f", its first line read with {between} between them"


def _separator(text: str) -> str:
    return max(_SEPARATORS, key=text.partition("\n")[0].count)


def _check_names(path: Path, names: list[str]) -> None:
    if names and names[0].lower().startswith("sep="):
        raise SemifError(f"{path}: its first line, sep=, is for Excel alone; take it out")
    twice = {name for name in names if names.count(name) > 1}
    if not names or twice:
        what = f"has the column {shown(min(twice))} twice" if twice else "is empty"
        raise SemifError(f"{path} {what}; its first line must name the columns, each once")


def _csv_row(names: list[str], cells: list[str]) -> Row:
    if len(cells) != len(names):
        raise wrong_row(f"has {len(cells)} cells, the first line names {len(names)} columns")
    return dict(zip(names, cells, strict=True))


def _parquet_rows(path: Path, content: bytes) -> Iterator[tuple[int, ReadRow]]:
    if missing := [name for name in ("pandas", "pyarrow") if find_spec(name) is None]:
        raise SemifError(
            f"{path} is Parquet, which needs {' and '.join(missing)}; run: pip install 'semif[parquet]', or "
            "save it as CSV"
        )
    import pandas  # noqa: PLC0415 - an extra of its own, heavy

    try:
        frame = pandas.read_parquet(io.BytesIO(content))
    except (ValueError, OSError) as error:  # pyarrow's own errors are kinds of these
        raise SemifError(f"cannot read {path}: {str(error).splitlines()[0]}") from None
    # Through JSON: dates, decimals and what is missing come out as JSON Lines would have them.
    records: list[Row] = json.loads(frame.to_json(orient="records", date_format="iso"))
    for number, row in enumerate(records, 1):
        yield number, partial(dict, row)


def wrong_row(message: str) -> InvalidRequestError:
    """For a row that is wrong as a whole."""
    return InvalidRequestError(message, problems=[Problem((), message, "row")])


def cell_text(row: Row, column: str) -> str | None:
    """A cell as text, as a CSV file would have it; None where it is empty. Raises InvalidRequestError."""
    value = row.get(column)
    match value:
        case None | "":
            return None
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case int():  # whole: the ids of some systems have more digits than a float
            return str(value)
        case float():
            return f"{value:.15g}"
    message = f"must be text or a number, got {type_name(value)}"
    raise InvalidRequestError(message, problems=[Problem((), f"column {shown(column)} {message}", "cell")])
