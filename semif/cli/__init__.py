"""`semif`: each command is a module with a `command`, in one of the rooms below, loaded when it is called."""

import sys
from importlib import import_module
from typing import Any

import click

from semif.cli.output import Failed, Interrupted
from semif.cli.streams import failure_of, finish_output, prepare_streams
from semif.errors import SemifError

_ROOMS = {
    "asking": ("decide", "ask", "submit", "batch", "serve"),
    "operating": (
        "demo",
        "deploy",
        "status",
        "logs",
        "size",
        "diff",
        "promote",
        "rollback",
        "destroy",
        "prune",
        "verify",
    ),
    "preparing": ("build", "env", "model", "image", "iam"),
}
"""The module of `decide` is `semif.cli.asking.decide`."""
_MODULES = {name: f"semif.cli.{room}.{name}" for room, names in _ROOMS.items() for name in names} | {
    name: f"semif.cli.{name}" for name in ("evaluate", "calibrate")
}
COMMANDS = (
    "demo", "serve", "deploy", "decide", "ask", "submit", "batch", "evaluate", "calibrate", "status", "logs",
    "size", "diff", "promote", "rollback", "destroy", "prune", "verify", "build", "env", "model", "image",
    "iam",
)  # fmt: skip
"""In the order of `semif --help`."""


class Commands(click.Group):
    """Loads a command's module on demand, and turns failures into one line and an exit status."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """All of them, in the order in which one needs them."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's signature
        """The command's click object; None where there is no such command."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(_MODULES[cmd_name]).command
        return command

    def main(self, *arguments: Any, **named: Any) -> Any:
        """Run the command line, on streams that are fit to be written."""
        prepare_streams()
        try:
            return super().main(*arguments, **named)
        except OSError as error:  # of --help and --version, which no command is behind
            failure = failure_of(error)
            failure.show()
            sys.exit(failure.exit_code)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command. Exit status 1 for a failure, 2 for wrong usage, 130 for Ctrl-C."""
        try:
            result = super().invoke(ctx)
            finish_output()
        except BrokenPipeError:
            raise  # click ends quietly, with status 1: nobody reads on
        except SemifError as error:
            raise Failed(str(error)) from error
        except KeyboardInterrupt:
            raise Interrupted from None
        except OSError as error:
            raise failure_of(error) from error
        return result


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="semif", prog_name="semif")
def main() -> None:
    """Deploy decision models to Amazon SageMaker AI, and ask them.

    A decision model reads a state and a question and gives a probability for each option.

    \b
    Try it on this machine, with no account:
      semif demo
      semif serve embedded --ui
    \b
    Deploy to AWS, then ask:
      semif deploy dev
      semif decide dev examples/routing.json
    """
