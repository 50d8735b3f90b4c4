"""What the commands share: how a failure ends, how JSON is printed, how progress looks."""

import json
import sys
from collections.abc import Mapping
from typing import IO, Any

import click

from semif.errors import harmless


class InOrder(click.Group):
    """A group whose help lists its commands as one needs them, which is as they were added."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Their names."""
        return list(self.commands)


class Failed(click.ClickException):
    """The operation failed: one message on stderr, exit status 1."""

    def show(self, file: IO[Any] | None = None) -> None:
        """Print it, without what would steer the terminal: servers' own words may be in it."""
        click.echo(f"semif: {harmless(self.message)}", file=file or sys.stderr)


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
