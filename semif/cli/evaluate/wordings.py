"""`semif evaluate wordings`: the same labelled tasks asked in several ways."""

from contextlib import closing
from dataclasses import asdict
from pathlib import Path

import click
from rich.console import Console

from semif.cli.options import api_key, key_remedy, target_options, url_option
from semif.cli.output import json_option, print_json
from semif.cli.progress import count_on_stderr
from semif.evaluation.asking.evaluation import evaluate
from semif.evaluation.asking.targets import endpoint_target, url_target
from semif.evaluation.extra import need_evaluate_extra
from semif.evaluation.runs.run_file import Asking, read_run
from semif.evaluation.tasks.task_lines import read_task_set
from semif.evaluation.wordings.wordings_file import read_wordings, reworded
from semif.target.target import open_target


@click.command()
@click.argument("arguments", metavar="[ENV] TASKS WORDINGS", nargs=-1)
@click.option(
    "-o",
    "--output",
    required=True,
    type=click.Path(path_type=Path, file_okay=False),
    metavar="FOLDER",
    help="Where the run of each wording is kept; asking again goes on there.",
)
@click.option("--limit", type=click.IntRange(1), metavar="N", help="Ask only the first N tasks.")
@url_option
@target_options
@json_option
def wordings(
    *,
    arguments: tuple[str, ...],
    output: Path,
    url: str | None,
    limit: int | None,
    on_this_machine: bool,
    profile: str | None,
    as_json: bool,
) -> None:
    """Find the words that a model understands.

    Asks every task of TASKS in each of the ways that WORDINGS (TOML) lists, a question and descriptions for
    the tasks' options, and tells what each way gets right, and which of them differ by more than chance. Each
    way leaves a run file, which the other commands read.

    \b
    Examples:
      semif evaluate wordings --url http://127.0.0.1:8080 examples/wordings/spam.jsonl \\
        examples/wordings/spam.toml -o spam
      semif evaluate wordings dev tasks.jsonl wordings.toml -o wordings
    """
    need_evaluate_extra()
    if len(arguments) != (3 if url is None else 2):
        raise click.UsageError("give ENV, TASKS and WORDINGS, or --url URL, TASKS and WORDINGS")
    if url is not None and (on_this_machine or profile):
        raise click.UsageError("--url asks a server directly, --local and --profile choose an AWS; give one")
    tasks = read_task_set(Path(arguments[-2]))
    sets = {wording.name: reworded(tasks, wording) for wording in read_wordings(Path(arguments[-1]))}
    if url is not None:
        target = url_target(url, "decision", connections=1, api_key=api_key())
    else:
        where = open_target(arguments[0], on_this_machine=on_this_machine, profile=profile)
        target = endpoint_target(where, "decision", connections=1)
    with key_remedy(url), closing(target):
        for name, asked in sets.items():
            with count_on_stderr(name) as on_answer:
                evaluate(target, [asked], Asking(limit=limit), output / f"{name}.jsonl", on_answer)
    from semif.evaluation.report.tables.table import print_tables  # noqa: PLC0415 - heavy, and an extra
    from semif.evaluation.wordings.matrix import (  # noqa: PLC0415
        matrix_tables,
        wordings_matrix,
    )

    matrix = wordings_matrix({name: read_run(output / f"{name}.jsonl") for name in sets})
    if as_json:
        print_json(asdict(matrix))
    else:
        print_tables(Console(), matrix_tables(matrix))
