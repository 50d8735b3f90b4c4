"""`semif evaluate answered`: captured answers, judged by the labels that somebody gave the questions."""

from pathlib import Path

import click

from semif.cli.output import json_option
from semif.evaluation.captured.captured_run import write_captured_run
from semif.evaluation.extra import need_evaluate_extra
from semif.evaluation.tasks.task_lines import read_task_set


@click.command()
@click.argument("tasks", type=click.Path(path_type=Path))
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), required=True, help="The run file that is written."
)
@json_option
def answered(*, tasks: Path, output: Path, as_json: bool) -> None:
    """Judge captured answers by your labels.

    Takes TASKS of `semif evaluate captured`, labelled, and writes the answers that callers got as a run file,
    which the other commands read: reports, calibration, thresholds. Nothing is asked. Times are the
    container's own.

    \b
    Examples:
      semif evaluate answered tasks.jsonl -o prod.jsonl
      semif calibrate fit prod.jsonl -o prod.calibration.json
    """
    need_evaluate_extra()
    write_captured_run(read_task_set(tasks), output)
    from semif.cli.evaluate.printing import print_report  # noqa: PLC0415 - heavy, and an extra

    print_report(output, html=None, markdown_file=None, as_json=as_json)
