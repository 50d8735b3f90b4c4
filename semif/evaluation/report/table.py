"""Tables, as data: built once, shown on a console, in Markdown and on a page.

A cell that a task, a server or a file has named is a `Name`: foreign text, which stays text everywhere.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from rich import box
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from semif.errors import printable
from semif.evaluation.report.measures import Share

MAX_NAME = 200
"""Longest name that is shown, in characters: an image's or a model's whole pin is shorter."""
NONE = "-"
"""For a figure that there is none of."""


class Name(str):
    """Foreign text: printable, on one line, not longer than `MAX_NAME`."""

    __slots__ = ()

    def __new__(cls, text: str) -> "Name":
        """Anything that is not printable becomes a replacement character."""
        plain = printable(text)
        return super().__new__(cls, plain if len(plain) <= MAX_NAME else f"{plain[: MAX_NAME - 1]}…")


@dataclass(frozen=True)
class Table:
    """`rows` of cells under `columns`; the columns after the first `words` ones hold figures."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    words: int = 1
    note: str = ""


def print_tables(console: Console, tables: Sequence[Table]) -> None:
    """On a terminal; foreign text is neither markup nor a control sequence."""
    for table in tables:
        headed = any(table.columns)
        shown = RichTable(
            title=table.title,
            title_justify="left",
            title_style="bold",
            box=box.SIMPLE_HEAD if headed else box.SIMPLE,
            show_header=headed,
        )
        for place, column in enumerate(table.columns):
            shown.add_column(column, justify="left" if place < table.words else "right", overflow="fold")
        for row in table.rows:
            shown.add_row(*map(Text, row))
        console.print(shown)
        if table.note:
            console.print(Text(table.note, style="dim"))
            console.print()


def markdown(tables: Sequence[Table]) -> str:
    """GitHub's Markdown, a heading of the second level for each table."""
    return "\n".join(_markdown(table) for table in tables)


def _markdown(table: Table) -> str:
    dashes = ("---" if place < table.words else "---:" for place in range(len(table.columns)))
    lines = [f"## {table.title}", "", _line(table.columns), _line(tuple(dashes))]
    lines += (_line(tuple(map(_markdown_cell, row))) for row in table.rows)
    if table.note:
        lines += ["", table.note]
    return "\n".join(lines) + "\n"


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _markdown_cell(cell: str) -> str:
    """Foreign text as a code span: nothing in it is a link, a tag or a mention."""
    if not isinstance(cell, Name):
        return cell
    longest = max(map(len, re.findall("`+", cell)), default=0)
    fence = "`" * (longest + 1)
    room = " " if longest else ""
    escaped = cell.replace("|", r"\|")  # GitHub takes the backslash away, inside a table's code as well
    return f"{fence}{room}{escaped}{room}{fence}"


def percent(value: float | None) -> str:
    """0.475 as 47.5%."""
    return NONE if value is None else f"{value:.1%}"


def interval(found: Share) -> str:
    """The 95 % interval, in percent."""
    return f"{100 * found.low:.1f} to {100 * found.high:.1f}%"


def of(found: Share) -> str:
    """57 of 120."""
    return f"{found.part:,} of {found.whole:,}"


def seconds(value: float | None) -> str:
    """A time with three figures that say something."""
    if value is None:
        return NONE
    return f"{value * 1000:.3g} ms" if value < 0.0995 else f"{value:.3f} s"


def number(value: float | None) -> str:
    """Three decimals."""
    return NONE if value is None else f"{value:.3f}"


def count(value: float | None) -> str:
    """A whole number."""
    return NONE if value is None else f"{value:,.0f}"


def name(text: str | None) -> str:
    """Foreign text, or the sign that there is none."""
    return Name(text) if text else NONE
