"""The steps of a long command, each with its time: a spinner on a terminal, plain lines elsewhere."""

import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

from rich.console import Console, Group, RenderableType
from rich.markup import escape
from rich.status import Status
from rich.text import Text

_DETAIL_CHARACTERS = 100


class Step:
    """A running step. `tell` and `show` put a passing detail beside it, `note` goes into its last line."""

    def __init__(self, console: Console, title: str) -> None:
        self.title = title
        self.note = ""
        self._console = console
        self.status: Status | None = console.status(escape(title)) if console.is_terminal else None

    def tell(self, detail: str) -> None:
        """Say in a line what is happening now; long ones are cut, empty ones ignored."""
        if text := " ".join(detail.split())[:_DETAIL_CHARACTERS]:
            self.show(Text(text, style="dim"))

    def show(self, detail: RenderableType) -> None:
        """Show `detail` under the title until the next one, on a terminal only."""
        if self.status is not None:
            self.status.update(Group(Text(self.title), detail))

    def log(self, line: str) -> None:
        """Print a line to stay, where there is no terminal to show passing details on."""
        if self.status is None:
            self._console.print(f"       {escape(line)}")


class Steps:
    """Prints steps on `console`, which writes to stderr: results go to stdout."""

    def __init__(self, console: Console) -> None:
        self.console = console

    @contextmanager
    def step(self, title: str) -> Iterator[Step]:
        """One step: shown while the block runs, then with a mark and its seconds, passed or not."""
        step = Step(self.console, title)
        began = time.monotonic()
        mark = "[bold red]failed[/]"
        try:
            with step.status or nullcontext():
                yield step
            mark = "[bold green]ok[/]    "
        finally:
            note = f" ({step.note})" if step.note else ""
            self.console.print(
                f"{mark} {escape(title + note)} [dim]{time.monotonic() - began:.1f} s[/]", soft_wrap=True
            )
