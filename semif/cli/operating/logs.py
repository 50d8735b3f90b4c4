"""`semif logs`: what the endpoint's containers print."""

import json
import re
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import click

from semif.aws.container_log import LogLine, follow_log, read_log
from semif.cli.options import environment_argument, target_options
from semif.deployment.modes import deployed_mode
from semif.target.target import open_target

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
_STYLES = {"WARNING": "yellow", "ERROR": "red", "CRITICAL": "red"}
_SHOWN_APART = {"time", "level", "logger", "message"}


class Duration(click.ParamType[float]):
    """A whole number and its unit; becomes seconds."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Seconds; fails for anything else than a number with s, m, h or d."""
        if isinstance(value, float):
            return value
        match = re.fullmatch(r"([0-9]{1,6})([smhd])", value)
        if match is None:
            self.fail(f"{value!r} must be a whole number and s, m, h or d, as 90s, 30m, 2h or 1d", param, ctx)
        return float(int(match[1]) * _UNITS[match[2]])


@click.command()
@environment_argument
@click.option("--follow", "-f", is_flag=True, help="Go on with new lines as they come, until Ctrl-C.")
@click.option(
    "--since", type=Duration(), default="1h", show_default=True, help="How far back: 90s, 30m, 2h, 1d."
)
@target_options
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print each line as a JSON object with time, stream and the message as it was printed.",
)
def command(
    *,
    environment: str,
    follow: bool,
    since: float,
    on_this_machine: bool,
    profile: str | None,
    as_json: bool,
) -> None:
    """Show what the endpoint's containers print.

    Shows the log lines of all instances of ENV, or of all its transform jobs, merged by time (UTC). The
    adapter's lines, which are JSON, are shown as text; its figures, a line a minute, are left out: --json
    prints them too.

    \b
    Examples:
      semif logs dev --since 30m
      semif logs prod --follow
      semif logs dev --json | jq -r 'select(.message | contains("ERROR"))'
    """
    target = open_target(environment, on_this_machine=on_this_machine, profile=profile)
    log, began = deployed_mode(target.environment).log(target.environment), time.time() - since
    if follow:
        lines = follow_log(target.aws, log, since=began, poll_seconds=target.poll_seconds)
    else:
        lines = read_log(target.aws, log, since=began)
    for shown in _json(lines) if as_json else _text(lines):
        click.echo(shown)


def _json(lines: Iterator[LogLine]) -> Iterator[str]:
    for line in lines:
        yield json.dumps({"time": _moment(line), "stream": line.stream, "message": line.message})


def _text(lines: Iterator[LogLine]) -> Iterator[str]:
    for line in lines:
        entry = _entry(line.message)
        if "_aws" in entry:  # CloudWatch's embedded metrics
            continue
        instance = line.stream.rpartition("/")[2]
        level = str(entry.get("level", ""))
        yield click.style(f"{_moment(line)} {instance} {_words(line, entry)}", fg=_STYLES.get(level))


def _words(line: LogLine, entry: dict[str, Any]) -> str:
    """The line without what could move the cursor of a terminal."""
    if "message" in entry:
        fields = [f"{key}={_plain(value)}" for key, value in entry.items() if key not in _SHOWN_APART]
        words = " ".join([str(entry.get("level", "")), str(entry["message"]), *fields])
    else:
        words = line.message
    return "".join(character if character.isprintable() else " " for character in words)


def _plain(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))


def _entry(message: str) -> dict[str, Any]:
    """The line's JSON object; empty for other lines."""
    try:
        entry = json.loads(message) if message.startswith("{") else {}
    except (ValueError, RecursionError):
        return {}
    return entry if isinstance(entry, dict) else {}


def _moment(line: LogLine) -> str:
    moment = datetime.fromtimestamp(line.milliseconds / 1000, UTC)
    return moment.strftime("%Y-%m-%d %H:%M:%S.") + f"{line.milliseconds % 1000:03d}"
