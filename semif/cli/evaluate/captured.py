"""`semif evaluate captured`: what callers asked an endpoint, as tasks to label."""

import json
import random
from datetime import UTC, datetime, timedelta
from pathlib import Path

import click

from semif.cli.options import environment_argument, target_options
from semif.cli.output import json_option, print_json
from semif.errors import SemifError
from semif.evaluation.captured.captured_files import captured_lines
from semif.evaluation.captured.unlabelled import Sample
from semif.evaluation.extra import need_evaluate_extra
from semif.project.whole_files import check_writable, write_whole
from semif.target.target import open_target


@click.command()
@environment_argument
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), required=True, help="The file of tasks; a new one."
)
@click.option(
    "--sample",
    type=click.IntRange(1, 20_000),
    default=300,
    show_default=True,
    help="How many different questions are drawn, at random from all.",
)
@click.option("--days", type=click.IntRange(1), metavar="N", help="Only of the last N days; default: all.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of the draw.")
@target_options
@json_option
def captured(
    *,
    environment: str,
    output: Path,
    sample: int,
    days: int | None,
    seed: int,
    on_this_machine: bool,
    profile: str | None,
    as_json: bool,
) -> None:
    """Make tasks to label of captured requests.

    Reads what SageMaker captured of ENV's endpoint ([data_capture] in its file) and writes a file of tasks:
    each different question once, with the endpoint's last answer to it beside. Write the right option's id
    into `expected` of each line, and take out the lines that you do not label; then `semif evaluate answered`
    judges the answers that callers got, and `semif evaluate run` asks again. The file holds callers' texts.

    \b
    Example:
      semif evaluate captured prod -o tasks.jsonl --sample 200 --days 7
    """
    need_evaluate_extra()
    if output.exists():
        raise SemifError(f"{output} is there, and may hold labels; give another file")
    check_writable(output)
    target = open_target(environment, on_this_machine=on_this_machine, profile=profile)
    since = None if days is None else (datetime.now(UTC) - timedelta(days=days)).date()
    drawn = Sample(sample, random.Random(seed))  # noqa: S311 - a draw needs no secrecy
    drawn.take(captured_lines(target, since))
    if drawn.rows:
        write_whole(output, b"".join(json.dumps(row).encode() + b"\n" for row in drawn.rows))
    if as_json:
        print_json(
            {
                "output": str(output) if drawn.rows else None,
                "tasks": len(drawn.rows),
                "different": drawn.different,
                "questions": drawn.questions,
                "requests": drawn.exchanges,
                "left_out": dict(drawn.left_out),
            }
        )
    else:
        click.echo(
            f"{drawn.exchanges} requests with {drawn.questions} questions, {drawn.different} different"
        )
        for why, count in sorted(drawn.left_out.items()):
            click.echo(f"left out: {count} x {why}")
        if drawn.rows:
            click.echo(f"{output}: {len(drawn.rows)} tasks to label; it holds callers' texts")
    if not drawn.rows:
        raise SemifError(f"nothing of {environment} was captured that could be a task; no file was written")
