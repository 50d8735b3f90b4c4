"""What `report` prints and writes. Imported when they run: SciPy is heavy, and an extra."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import click
from rich.console import Console

from semif.cli.output import print_json
from semif.evaluation.figures.breakdown import break_down
from semif.evaluation.figures.summary import Summary, summarise
from semif.evaluation.report.tables.breakdown_tables import breakdown_tables, mistakes_table
from semif.evaluation.report.tables.report_tables import read_judged_run, report_tables
from semif.evaluation.report.tables.table import ReportTable, markdown, print_tables
from semif.evaluation.runs.run_file import keep_runs
from semif.evaluation.runs.task_texts import task_texts
from semif.project.whole_files import write_whole


def print_report(
    path: Path, *, html: Path | None, markdown_file: Path | None, as_json: bool, texts: Path | None = None
) -> Summary:
    """Print the figures of one run, with what the file of tasks `texts` says of the worst mistakes.

    Raises SemifError where the run cannot be read or holds nothing to judge, and as `task_texts`.
    """
    run = read_judged_run(path)
    summary, breakdown = summarise(run.records), break_down(run.records)
    tables = [*report_tables(run.header, summary), *breakdown_tables(breakdown)]
    states = {} if texts is None else task_texts(texts, run.header)
    mistakes = mistakes_table(summary.wrong, states) if texts is not None and summary.wrong else None
    keep_runs((path,), html, markdown_file)
    if html is not None:
        from semif.evaluation.report.pages.report_page import report_page  # noqa: PLC0415 - matplotlib, for the page alone

        write(html, report_page(run, summary, tables, mistakes))
    tables += [mistakes] if mistakes else []
    if markdown_file is not None:
        write(markdown_file, document("Evaluation", (), tables))
    if as_json:
        told = {
            "run": run.header.model_dump(mode="json", by_alias=True),
            "summary": asdict(summary),
            "breakdown": asdict(breakdown),
        }
        wrong = {one.task: states[one.task] for one in summary.wrong if one.task in states}
        print_json(told | ({"texts": wrong} if texts is not None else {}))
    else:
        print_tables(Console(), tables)
    return summary


def document(title: str, lead: Sequence[str], tables: Sequence[ReportTable]) -> str:
    """Tables in Markdown, under a title and some sentences."""
    return "\n\n".join((f"# {title}", *lead, markdown(tables)))


def write(path: Path, text: str) -> None:
    """Write a file, and say so. Raises SemifError."""
    write_whole(path, text.encode())
    click.echo(f"semif: wrote {path}", err=True)
