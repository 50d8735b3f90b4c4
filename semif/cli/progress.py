"""Progress on standard error: bars and counts of long work."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click
from rich import progress as rich
from rich.console import Console
from rich.filesize import decimal
from rich.text import Text

from semif.progress import Progress


@contextmanager
def progress_on_stderr() -> Iterator[Progress]:
    """A bar for each step where stderr is a terminal, one line at the end of each step elsewhere."""
    if sys.stderr.isatty():
        with _bars() as progress:
            yield progress
    else:
        yield _Lines()


@contextmanager
def count_on_stderr(step: str) -> Iterator[Callable[[int, int], None]]:
    """Takes how many are done, of how many: a bar with rate and time left on a terminal, elsewhere lines.

    What is done before the first call counts as done, and not for the rate.
    """
    if not sys.stderr.isatty():
        yield _CountLines(step)
        return
    columns = (
        rich.TextColumn("{task.description}"),
        rich.BarColumn(),
        rich.MofNCompleteColumn(),
        _RateColumn(),
        rich.TimeRemainingColumn(elapsed_when_finished=True),
    )
    with rich.Progress(*columns, console=Console(stderr=True), speed_estimate_period=120) as display:
        task: rich.TaskID | None = None

        def update(done: int, total: int) -> None:
            nonlocal task
            if task is None:
                task = display.add_task(step, total=total, completed=done)
            display.update(task, completed=done)

        yield update


class _RateColumn(rich.ProgressColumn):
    def render(self, task: rich.Task) -> Text:
        speed = task.finished_speed or task.speed
        return Text("" if speed is None else f"{speed:,.1f}/s")


class _CountLines:
    """A line at the start, and at each further tenth."""

    def __init__(self, step: str) -> None:
        self._step = step
        self._began = time.monotonic()
        self._first: int | None = None
        self._tenth = -1

    def __call__(self, done: int, total: int) -> None:
        if self._first is None:
            self._first = done
        if (tenth := 10 * done // total) == self._tenth:
            return
        self._tenth = tenth
        rate = (done - self._first) / max(time.monotonic() - self._began, 1e-9)
        left = f", {rate:,.1f}/s, {(total - done) / rate:,.0f} s left" if rate > 0 else ""
        click.echo(f"{self._step}: {done:,} of {total:,}{left}", err=True)


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
            click.echo(f"{step}: {decimal(total)} in {seconds:.1f} s", err=True)
