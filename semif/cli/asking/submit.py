"""`semif submit`: ask an asynchronous endpoint all of a file."""

import time
from dataclasses import asdict
from pathlib import Path

import click

from semif.background.queue.submit import SubmissionCounts, submit
from semif.cli.options import answers_file, environment_argument, requests_to_answers, target_options
from semif.cli.output import json_option, print_json
from semif.cli.progress import count_on_stderr
from semif.environment.asking import require_mode
from semif.environment.environment import load_environment
from semif.target.target import open_target


@click.command()
@environment_argument
@requests_to_answers
@target_options
@json_option
def command(
    *,
    environment: str,
    file: Path,
    output: Path | None,
    on_this_machine: bool,
    profile: str | None,
    as_json: bool,
) -> None:
    """Ask an asynchronous endpoint all of a file.

    Sends the requests of FILE, one a line in any form that `semif decide` takes, to the endpoint of ENV,
    whose mode must be "async"; follows them, and writes what came of them in the order of FILE: for each a
    line with "line", "status" and "reply", or with "error" where it could not be asked ("invalid") or has no
    answer ("failed"). An environment of kind "text" takes chat completions, one of kind "decider" System
    One requests.

    Ended at any point, by Ctrl-C or a power cut, the same command goes on where it was: what was accepted or
    answered is not asked again. What is known lies beside the output, in a file ending in .state; remove it
    to ask everything anew.

    The exit status is 1 where a line has no answer.

    \b
    Examples:
      semif submit demo-async --local examples/requests.jsonl
      semif submit demo-async tickets.jsonl --output answers.jsonl --json
    """
    require_mode(load_environment(environment), "async")
    output = answers_file(file, output)
    target = open_target(environment, on_this_machine=on_this_machine, profile=profile)
    began = time.monotonic()
    with count_on_stderr(file.name) as on_progress:
        outcome = submit(target, file, output, on_progress)
    seconds = time.monotonic() - began
    if as_json:
        print_json(asdict(outcome) | {"seconds": round(seconds, 1), "output": str(output)})
    else:
        click.echo(f"{summary(outcome)}: {output}")
    if outcome.answered < outcome.requests:
        raise click.exceptions.Exit(1)


def summary(outcome: SubmissionCounts) -> str:
    """How many lines ended in which way."""
    parts = [f"{outcome.answered} of {outcome.requests} answered"]
    parts += [f"{outcome.failed} failed"] if outcome.failed else []
    parts += [f"{outcome.invalid} could not be asked"] if outcome.invalid else []
    return ", ".join(parts)
