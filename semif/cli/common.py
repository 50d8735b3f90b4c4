"""What the commands share: how a failure ends, how JSON is printed, how progress looks."""

import json
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import IO, Any

import click
from rich import progress as rich
from rich.console import Console

from semif.progress import Progress


class Failed(click.ClickException):
    """The operation failed: one message on stderr, exit status 1."""

    def show(self, file: IO[Any] | None = None) -> None:
        """Print it."""
        click.echo(f"semif: {self.message}", file=file or sys.stderr)


class Interrupted(Failed):
    """Ctrl-C: exit status 130, as shells have it."""

    exit_code = 130

    def __init__(self) -> None:
        super().__init__("interrupted")


json_option = click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print one JSON object on stdout; a failure is told on stderr, with nothing on stdout.",
)


def print_json(value: Mapping[str, object]) -> None:
    """Print exactly one JSON object on stdout."""
    click.echo(json.dumps(value, indent=2))


@contextmanager
def progress_on_stderr() -> Iterator[Progress]:
    """A bar for each step where stderr is a terminal, one line at the end of each step elsewhere."""
    if sys.stderr.isatty():
        with _bars() as progress:
            yield progress
    else:
        yield _Lines()


@contextmanager
def _bars() -> Iterator[Progress]:
    columns = (
        rich.TextColumn("{task.description}"),
        rich.BarColumn(),
        rich.DownloadColumn(),
        rich.TransferSpeedColumn(),
        rich.TimeRemainingColumn(elapsed_when_finished=True),
    )
    with rich.Progress(*columns, console=Console(stderr=True)) as display:
        tasks: dict[str, rich.TaskID] = {}

        def update(step: str, done: int, total: int) -> None:
            if step not in tasks:
                tasks[step] = display.add_task(step, total=total)
            display.update(tasks[step], completed=done)

        yield update


class _Lines:
    def __init__(self) -> None:
        self._began: dict[str, float] = {}

    def __call__(self, step: str, done: int, total: int) -> None:
        began = self._began.setdefault(step, time.monotonic())
        if done == total:
            seconds = time.monotonic() - began
            click.echo(f"{step}: {total / 1e6:,.1f} MB in {seconds:.1f} s", err=True)
