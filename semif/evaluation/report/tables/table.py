"""Tables, as data: built once, shown on a console, in Markdown and on a page.

A cell that a task, a server or a file has named is a `ForeignText`, and stays text everywhere.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from semif.evaluation.report.tables.cells import ForeignText


@dataclass(frozen=True)
class ReportTable:
    """`rows` of cells under `columns`; the columns after the first `words` ones hold figures."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    words: int = 1
    note: str = ""


def print_tables(console: Console, tables: Sequence[ReportTable]) -> None:
    """On a terminal; foreign text is neither markup nor a control sequence."""
    for table in tables:
        headed = any(table.columns)
        shown = Table(
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


def markdown(tables: Sequence[ReportTable]) -> str:
    """GitHub's Markdown, a heading of the second level for each table."""
    return "\n".join(_markdown(table) for table in tables)


def _markdown(table: ReportTable) -> str:
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
    if not isinstance(cell, ForeignText):
        return cell
    longest = max(map(len, re.findall("`+", cell)), default=0)
    fence = "`" * (longest + 1)
    room = " " if longest else ""
    escaped = cell.replace("|", r"\|")  # GitHub takes the backslash away, inside a table's code as well
    return f"{fence}{room}{escaped}{room}{fence}"
