"""`semif evaluate compare`: two runs of the same tasks, or more."""

from pathlib import Path

import click

from semif.cli.evaluate.report import html_option, markdown_option, run_file
from semif.cli.output import json_option
from semif.evaluation.extra import need_evaluate_extra

MAX_RUNS = 20
"""More rows than that nobody reads, and each costs the tests power."""


@click.command()
@click.argument("runs", metavar="A B [C...]", type=run_file, nargs=-1, required=True)
@html_option
@markdown_option
@json_option
def compare(*, runs: tuple[Path, ...], html: Path | None, markdown: Path | None, as_json: bool) -> None:
    """Compare runs of the same tasks.

    Prints the figures of the run files A and B side by side, with the ratio B / A; whether their accuracies
    differ by more than chance (McNemar's exact test, or its like over whole groups where tasks have them);
    and the tasks on which they chose differently. Compared are the tasks that all asked; what is left out
    is told.

    Of more than two, A is what the others are held against: a row for each, and the same test, its p adjusted
    for their number (Holm).

    \b
    Examples:
      semif evaluate compare cpu.jsonl gpu.jsonl
      semif evaluate compare before.jsonl after.jsonl --html compare.html
      semif evaluate compare llm.jsonl small.jsonl large.jsonl baseline.jsonl --html compare.html
    """
    if not 2 <= len(runs) <= MAX_RUNS:
        raise click.UsageError(f"{len(runs)} run files are given; give 2 to {MAX_RUNS}")
    need_evaluate_extra()
    from semif.cli.evaluate.comparison import print_comparison  # noqa: PLC0415 - heavy, and an extra

    print_comparison(runs, html=html, markdown_file=markdown, as_json=as_json)
