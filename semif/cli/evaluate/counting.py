"""Progress of work that is counted in answers: how many, how fast, how long still."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

import click
from rich import progress as rich
from rich.console import Console
from rich.text import Text

LINE_SECONDS = 30
"""How often a line is written where there is no terminal."""


class Counting(Protocol):
    """Called after each answer."""

    def __call__(self, done: int, total: int) -> None:
        """Take note."""


@contextmanager
def counting(what: str) -> Iterator[Counting]:
    """A bar on stderr where that is a terminal, now and then a line elsewhere."""
    if sys.stderr.isatty():
        with _Bar(what) as bar:
            yield bar
    else:
        yield _Lines(what)


class _Bar:
    def __init__(self, what: str) -> None:
        self._what = what
        self._display = rich.Progress(
            rich.TextColumn("{task.description}"),
            rich.BarColumn(),
            rich.MofNCompleteColumn(),
            _Rate(),
            rich.TimeRemainingColumn(elapsed_when_finished=True),
            console=Console(stderr=True),
        )
        self._task: rich.TaskID | None = None

    def __enter__(self) -> "_Bar":
        self._display.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._display.stop()

    def __call__(self, done: int, total: int) -> None:
        if self._task is None:
            self._task = self._display.add_task(self._what, total=total, completed=done)
        self._display.update(self._task, completed=done)


class _Rate(rich.ProgressColumn):
    """Answers per second, lately."""

    def render(self, task: rich.Task) -> Text:
        """`12.3/s`."""
        speed = task.finished_speed or task.speed
        return Text("" if speed is None else f"{speed:.1f}/s")


class _Lines:
    def __init__(self, what: str) -> None:
        self._what = what
        self._began = self._told = time.monotonic()
        self._first: int | None = None

    def __call__(self, done: int, total: int) -> None:
        now = time.monotonic()
        if self._first is None:
            self._first = done
        if done < total and now - self._told < LINE_SECONDS:
            return
        self._told = now
        rate = (done - self._first) / max(now - self._began, 1e-9)
        left = f", about {(total - done) / rate:.0f} s left" if done < total and rate > 0 else ""
        click.echo(f"{self._what}: {done} of {total}, {rate:.1f}/s{left}", err=True)
