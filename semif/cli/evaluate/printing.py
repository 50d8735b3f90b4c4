"""What `report` and `compare` print and write. Imported when they run: SciPy is heavy, and an extra."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import click
from rich.console import Console

from semif.cli.output import print_json
from semif.evaluation.figures.breakdown import break_down
from semif.evaluation.figures.compare import compare, pair
from semif.evaluation.figures.summary import Summary, summarise
from semif.evaluation.report.tables.breakdown_tables import breakdown_tables, mistakes_table
from semif.evaluation.report.tables.compare_tables import caveats, comparison_tables, verdict
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

        _write(html, report_page(run, summary, tables, mistakes))
    tables += [mistakes] if mistakes else []
    if markdown_file is not None:
        _write(markdown_file, _document("Evaluation", (), tables))
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


def print_comparison(
    first: Path, second: Path, *, html: Path | None, markdown_file: Path | None, as_json: bool
) -> None:
    """Two runs side by side. Raises SemifError as for one, and where they have no task in common."""
    a, b = read_judged_run(first), read_judged_run(second)
    pairs = pair(a, b)
    comparison = compare(pairs)
    tables = comparison_tables(a, b, comparison)
    lead = (verdict(comparison), *caveats(a, b, pairs))
    keep_runs((first, second), html, markdown_file)
    if html is not None:
        from semif.evaluation.report.pages.compare_page import comparison_page  # noqa: PLC0415 - matplotlib, for the page alone

        _write(html, comparison_page(a, b, pairs, comparison))
    if markdown_file is not None:
        _write(markdown_file, _document("Comparison", lead, tables))
    if as_json:
        print_json(
            {
                "a": a.header.model_dump(mode="json", by_alias=True),
                "b": b.header.model_dump(mode="json", by_alias=True),
                "tasks": comparison.tasks,
                "left_out": {
                    "only_in_a": pairs.only_in_first,
                    "only_in_b": pairs.only_in_second,
                    "unlike": pairs.unlike,
                },
                "verdict": verdict(comparison),
                "comparison": asdict(comparison),
            }
        )
        return
    print_tables(Console(), tables)
    for sentence in lead:
        click.echo(sentence)


def _document(title: str, lead: Sequence[str], tables: Sequence[ReportTable]) -> str:
    return "\n\n".join((f"# {title}", *lead, markdown(tables)))


def _write(path: Path, text: str) -> None:
    write_whole(path, text.encode())
    click.echo(f"semif: wrote {path}", err=True)
