"""What every command on an environment takes, and where it prints its steps."""

import math
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http import HTTPStatus
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from semif.cli.steps import Steps
from semif.client.errors import AccessError
from semif.errors import SemifError
from semif.project.whole_files import cannot_read, check_writable

Command = Callable[..., Any]


class NumberRange(click.FloatRange):
    """A range of numbers. Click's own takes NaN, past any bound, and infinity where there is none."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The number. Fails as click's own does."""
        number: float = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is not a number.", param, ctx)
        return number


def environment_argument(command: Command) -> Command:
    """ENV: the name of a file in environments/."""
    return click.argument("environment", metavar="ENV")(command)


def target_options(command: Command) -> Command:
    """`--local` and `--profile`: which AWS."""
    command = click.option("--profile", metavar="NAME", help="AWS profile; default: AWS_PROFILE.")(command)
    return click.option("--local", "on_this_machine", is_flag=True, help="Use the AWS on this machine.")(
        command
    )


def url_option(command: Command) -> Command:
    """`--url`: a server instead of an endpoint. Its key is `api_key()`."""
    return click.option(
        "--url",
        metavar="URL",
        help="Ask the server at this address instead of an endpoint; SEMIF_API_KEY, if set, is its key.",
    )(command)


def api_key() -> str | None:
    """What `--url` is asked with: the adapter's own variable, since other users could read an argument."""
    return os.environ.get("SEMIF_API_KEY") or None


@contextmanager
def key_remedy(url: str | None) -> Iterator[None]:
    """Where the server at `--url` wants a key and none was given, say how: raises SemifError with it."""
    try:
        yield
    except AccessError as error:
        if url is None or api_key() or error.status != HTTPStatus.UNAUTHORIZED:
            raise
        raise SemifError(f"{error}; set SEMIF_API_KEY") from None


def requests_to_answers(command: Command) -> Command:
    """FILE of requests, and `--output` for their answers; `answers_file` is where these go."""
    command = click.option(
        "--output",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="Where the answers go; default: beside FILE, ending in .answers.jsonl.",
    )(command)
    return click.argument("file", type=click.Path(path_type=Path))(command)


def answers_file(requests: Path, output: Path | None) -> Path:
    """`output`, or the file beside `requests`.

    Raises SemifError where it could not be written, or would take the place of the requests.
    """
    if not requests.name:
        raise cannot_read(requests, "it is a folder, a file of requests is needed")
    answers = output or requests.with_suffix(".answers.jsonl")
    if answers.resolve() == requests.resolve():
        raise SemifError(f"{answers} is the file of requests; choose another --output")
    check_writable(answers)
    return answers


def steps_on_stderr() -> Steps:
    """Steps beside the result, which alone goes to stdout."""
    return Steps(Console(stderr=True, highlight=False))
