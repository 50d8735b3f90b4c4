"""`semif evaluate compare`: two runs of the same tasks."""

from pathlib import Path

import click

from semif.cli.evaluate.report import html_option, markdown_option, run_file
from semif.cli.output import json_option
from semif.evaluation.extra import need_evaluate_extra


@click.command()
@click.argument("a", type=run_file)
@click.argument("b", type=run_file)
@html_option
@markdown_option
@json_option
def compare(*, a: Path, b: Path, html: Path | None, markdown: Path | None, as_json: bool) -> None:
    """Compare two runs of the same tasks.

    Prints the figures of the run files A and B side by side, with the ratio B / A; whether their accuracies
    differ by more than chance (McNemar's exact test, or its like over whole groups where tasks have them);
    and the tasks on which they chose differently. Compared are the tasks that both asked; what is left out
    is told.

    \b
    Examples:
      semif evaluate compare cpu.jsonl gpu.jsonl
      semif evaluate compare before.jsonl after.jsonl --html compare.html
    """
    need_evaluate_extra()
    from semif.cli.evaluate.printing import print_comparison  # noqa: PLC0415 - heavy, and an extra

    print_comparison(a, b, html=html, markdown_file=markdown, as_json=as_json)
