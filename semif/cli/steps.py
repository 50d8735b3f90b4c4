"""The steps of a long command, each with its time: a spinner on a terminal, one line at its end elsewhere."""

import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

from rich.console import Console
from rich.markup import escape
from rich.status import Status

_DETAIL_CHARACTERS = 100


class Step:
    """A running step. `tell` shows a passing detail beside its title; `note` goes into its last line."""

    def __init__(self, title: str, status: Status | None) -> None:
        self.title = title
        self.note = ""
        self._status = status

    def tell(self, detail: str) -> None:
        """Say what is happening now; long lines are cut, empty ones ignored."""
        text = " ".join(detail.split())[:_DETAIL_CHARACTERS]
        if text and self._status is not None:
            self._status.update(f"{escape(self.title)} [dim]{escape(text)}[/]")


class Steps:
    """Prints steps on `console`, which writes to stderr: results go to stdout."""

    def __init__(self, console: Console) -> None:
        self.console = console

    @contextmanager
    def step(self, title: str) -> Iterator[Step]:
        """One step: shown while the block runs, then with a mark and its seconds, passed or not."""
        status = self.console.status(escape(title)) if self.console.is_terminal else None
        step = Step(title, status)
        began = time.monotonic()
        mark = "[bold red]failed[/]"
        try:
            with status or nullcontext():
                yield step
            mark = "[bold green]ok[/]    "
        finally:
            note = f" ({step.note})" if step.note else ""
            self.console.print(f"{mark} {escape(title + note)} [dim]{time.monotonic() - began:.1f} s[/]")
