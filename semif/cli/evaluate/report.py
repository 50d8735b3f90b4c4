"""`semif evaluate report`: a run's figures."""

from pathlib import Path

import click

from semif.cli.output import json_option
from semif.evaluation.extra import need_evaluate_extra

run_file = click.Path(path_type=Path)
html_option = click.option(
    "--html",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write one page with pictures to this file.",
)
markdown_option = click.option(
    "--markdown",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the tables as Markdown to this file.",
)


@click.command()
@click.argument("run", type=run_file)
@html_option
@markdown_option
@click.option(
    "--texts",
    type=click.Path(path_type=Path),
    metavar="TASKS",
    help="Show the worst mistakes with their states from this file, which the run asked.",
)
@json_option
def report(*, run: Path, html: Path | None, markdown: Path | None, texts: Path | None, as_json: bool) -> None:
    """Judge the answers of a run.

    Prints what the run file RUN holds: valid and right answers with 95% intervals, by family and kind, beside
    what guessing would get; latency, tokens, refusals and retries; how far the probabilities can be believed;
    how often the choice hangs on the order of the options; by slice and by option, and which are taken for
    each other. A stopped run is reported as far as it came.

    The page and the tables hold ids of tasks and options, and no text of the tasks unless --texts is given.

    \b
    Examples:
      semif evaluate report run.jsonl
      semif evaluate report run.jsonl --html report.html --markdown report.md
      semif evaluate report run.jsonl --texts examples/labelled.jsonl
      semif evaluate report run.jsonl --json
    """
    need_evaluate_extra()
    from semif.cli.evaluate.printing import print_report  # noqa: PLC0415 - heavy, and an extra

    print_report(run, html=html, markdown_file=markdown, as_json=as_json, texts=texts)
