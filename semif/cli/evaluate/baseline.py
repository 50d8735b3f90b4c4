"""`semif evaluate baseline`: what a classifier gets that is trained on the same labels."""

from pathlib import Path

import click

from semif.cli.evaluate.table import table_options
from semif.cli.output import json_option
from semif.evaluation.extra import need_evaluate_extra
from semif.evaluation.tasks.table_tasks import Columns
from semif.evaluation.tasks.task_sets import read_task_sets


@click.command()
@click.argument("tasks", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("-o", "--output", type=click.Path(path_type=Path), required=True, help="The run file.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of the folds.")
@table_options
@json_option
def baseline(
    *, tasks: tuple[Path, ...], output: Path, seed: int, columns: Columns | None, as_json: bool
) -> None:
    """Train a classifier on the labels.

    What TF-IDF and logistic regression get on the files TASKS, by cross-validation: each task is answered by
    a classifier that learned from the others, tasks of the same group left out with it. The answers are a
    run file, which `report` and `compare` read as any other. Asks nobody, and costs seconds.

    \b
    Examples:
      semif evaluate baseline examples/labelled.jsonl -o baseline.jsonl
      semif evaluate compare baseline.jsonl run.jsonl
    """
    need_evaluate_extra()
    sets = read_task_sets(tasks, columns)
    from semif.cli.evaluate.printing import print_report  # noqa: PLC0415 - heavy, and an extra
    from semif.evaluation.baseline import run_baseline  # noqa: PLC0415 - as well

    if few := run_baseline(sets, seed, output):
        click.echo(f"semif: {few} tasks are left out: too few share their question and options", err=True)
    print_report(output, html=None, markdown_file=None, as_json=as_json)
