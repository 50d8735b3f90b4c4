"""`semif evaluate import`: predictions that there are already, as a run."""

from functools import partial
from pathlib import Path

import click

from semif.cli.evaluate.table import table_options
from semif.cli.output import json_option
from semif.errors import printable
from semif.evaluation.extra import need_evaluate_extra
from semif.evaluation.predictions import PredictionColumns, import_predictions
from semif.evaluation.tasks.table_tasks import Columns
from semif.evaluation.tasks.task_sets import read_task_sets

_MAX_NAMED = 5
"""Most tasks without a prediction that are named."""


@click.command("import")
@click.argument("predictions", type=click.Path(path_type=Path))
@click.option(
    "--tasks",
    type=click.Path(path_type=Path),
    multiple=True,
    required=True,
    help="The labelled tasks: a file of them, or a table with the options below.",
)
@click.option("-o", "--output", type=click.Path(path_type=Path), required=True, help="The run file.")
@click.option("--predicted", required=True, metavar="COLUMN", help="The predicted option's id, or nothing.")
@click.option(
    "--probabilities",
    metavar="NAME",
    help="A column with an object of them by option; or what their columns begin with, before the option.",
)
@click.option(
    "--confidence",
    metavar="COLUMN",
    help="Where no other option's is known: the probability of what is predicted, 0 to 1.",
)
@partial(table_options, rows_too=True)
@json_option
def import_(
    *,
    predictions: Path,
    tasks: tuple[Path, ...],
    output: Path,
    predicted: str,
    probabilities: str | None,
    confidence: str | None,
    columns: Columns | None,
    named: str | None,
    as_json: bool,
) -> None:
    """Take predictions that you have, as a run.

    Reads what a classifier of yours said of labelled tasks, an LLM perhaps, from the rows of PREDICTIONS
    (CSV, JSON Lines, Parquet), and writes it as a run file, which `report` and `compare` read as any other.
    Asks nobody. --id names the column of the tasks' ids in PREDICTIONS, and in a table of tasks.

    Tasks without a row are told and left out, and so are rows of no task. An empty prediction is a task
    without a valid answer. With --confidence alone there are calibration error, reliability and thresholds,
    and no Brier score and no log loss, which need the probability of every option.

    \b
    Examples:
      semif evaluate import predictions.csv --tasks tasks.jsonl --id id --predicted team -o llm.jsonl
      semif evaluate import tickets.csv --tasks tickets.csv --id ticket --predicted llm_team -o llm.jsonl \\
        --state text --expected team --question "Which team?" --options options.toml
    """
    if probabilities is not None and confidence is not None:
        raise click.UsageError(
            "--probabilities tells every option's, --confidence the choice's alone; give one"
        )
    need_evaluate_extra()
    sets = read_task_sets(tasks, columns)
    taken = PredictionColumns(predicted, named, probabilities, confidence)
    found = import_predictions(sets, predictions, taken, output)
    if found.without:
        rest = len(found.without) - _MAX_NAMED
        names = printable(", ".join(found.without[:_MAX_NAMED])) + (f" and {rest} more" if rest > 0 else "")
        click.echo(
            f"semif: no prediction, and left out: {_count(len(found.without), 'task')}: {names}", err=True
        )
    if found.of_no_task:
        click.echo(f"semif: of no task, and left out: {_count(found.of_no_task, 'row')}", err=True)
    from semif.cli.evaluate.printing import print_report  # noqa: PLC0415 - heavy, and an extra

    print_report(output, html=None, markdown_file=None, as_json=as_json)


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
