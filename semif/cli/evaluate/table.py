"""The options by which a table becomes labelled tasks."""

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import click

from semif.evaluation.tasks.table_tasks import Columns, read_options

_OPTIONS = (
    click.option("--state", metavar="COLUMN", help="Of a table (CSV, JSON Lines, Parquet): what is judged."),
    click.option("--expected", metavar="COLUMN", help="Of a table: the id of the right option."),
    click.option("--question", metavar="TEXT", help="Of a table: what is asked of every row."),
    click.option(
        "--options",
        type=click.Path(path_type=Path),
        metavar="TOML",
        help="Of a table: its options, [options] with descriptions by their ids.",
    ),
    click.option("--slice", "slices", metavar="COLUMNS", help="Of a table: what figures are broken down by."),
    click.option("--group", metavar="COLUMN", help="Of a table: rows of the same value count together."),
    click.option("--id", "named", metavar="COLUMN", help="Of a table: the tasks' names; else their lines."),
)


Command = Callable[..., Any]


def table_options(command: Command, *, rows_too: bool = False) -> Command:
    """The options of a table; the command gets them as `columns`, which is None where none is given.

    With `rows_too` it has a table besides the tasks', whose `--id` it gets as `named`.
    """

    @wraps(command)
    def with_columns(
        *,
        state: str | None,
        expected: str | None,
        question: str | None,
        options: Path | None,
        slices: str | None,
        group: str | None,
        named: str | None,
        **others: Any,
    ) -> Any:
        if rows_too:
            others["named"] = named
        if state and expected and question and options:
            columns = Columns(
                state=state,
                expected=expected,
                question=question,
                options=read_options(options),
                id=named,
                group=group,
                slices=tuple(slices.split(",")) if slices else (),
            )
            return command(columns=columns, **others)
        given = (state, expected, question, options, slices, group, None if rows_too else named)
        if any(value is not None for value in given):
            raise click.UsageError("a table needs all of --state, --expected, --question and --options")
        return command(columns=None, **others)

    for option in reversed(_OPTIONS):
        option(with_columns)
    return with_columns
