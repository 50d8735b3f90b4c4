"""What every command on an environment takes, and where it prints its steps."""

from collections.abc import Callable
from typing import Any

import click
from rich.console import Console

from semif.cli.steps import Steps

Command = Callable[..., Any]


def environment_argument(command: Command) -> Command:
    """ENV: the name of a file in environments/."""
    return click.argument("environment", metavar="ENV")(command)


def target_options(command: Command) -> Command:
    """`--local` and `--profile`: which AWS."""
    command = click.option("--profile", metavar="NAME", help="AWS profile; default: AWS_PROFILE.")(command)
    return click.option("--local", "on_this_machine", is_flag=True, help="Use the AWS on this machine.")(
        command
    )


def steps_on_stderr() -> Steps:
    """Steps beside the result, which alone goes to stdout."""
    return Steps(Console(stderr=True, highlight=False))
