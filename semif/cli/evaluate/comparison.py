"""What `compare` prints and writes. Imported when it runs: SciPy is heavy, and an extra."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import click
from rich.console import Console

from semif.cli.evaluate.printing import document, write
from semif.cli.output import print_json
from semif.evaluation.figures.compare import compare
from semif.evaluation.figures.several import compare_several
from semif.evaluation.figures.shared_tasks import SharedTasks, shared_tasks
from semif.evaluation.report.tables.comparability import LETTERS, caveats
from semif.evaluation.report.tables.compare_tables import comparison_tables, verdict
from semif.evaluation.report.tables.report_tables import read_judged_run
from semif.evaluation.report.tables.several_tables import choices_table, several_tables, verdicts
from semif.evaluation.report.tables.table import ReportTable, print_tables
from semif.evaluation.runs.run_file import EvaluationRun, keep_runs


def print_comparison(
    paths: Sequence[Path], *, html: Path | None, markdown_file: Path | None, as_json: bool
) -> None:
    """At least two runs side by side.

    Raises SemifError as for one, and where they have no task in common.
    """
    runs = [read_judged_run(path) for path in paths]
    shared = shared_tasks(runs)
    keep_runs(paths, html, markdown_file)
    if len(runs) == 2:
        _print_two(runs[0], runs[1], shared, html=html, markdown_file=markdown_file, as_json=as_json)
    else:
        _print_several(runs, shared, html=html, markdown_file=markdown_file, as_json=as_json)


def _print_two(
    a: EvaluationRun,
    b: EvaluationRun,
    shared: SharedTasks,
    *,
    html: Path | None,
    markdown_file: Path | None,
    as_json: bool,
) -> None:
    comparison = compare(*shared.records)
    tables = comparison_tables(a, b, comparison)
    lead = (verdict(comparison), *caveats((a, b), shared))
    if html is not None:
        from semif.evaluation.report.pages.compare_page import comparison_page  # noqa: PLC0415 - matplotlib, for the page alone

        write(html, comparison_page(a, b, shared, comparison))
    if markdown_file is not None:
        write(markdown_file, document("Comparison", lead, tables))
    if as_json:
        only_in_a, only_in_b = shared.left_out
        print_json(
            {
                "a": a.header.model_dump(mode="json", by_alias=True),
                "b": b.header.model_dump(mode="json", by_alias=True),
                "tasks": comparison.tasks,
                "left_out": {"only_in_a": only_in_a, "only_in_b": only_in_b, "unlike": shared.unlike},
                "verdict": verdict(comparison),
                "comparison": asdict(comparison),
            }
        )
    else:
        _print(tables, lead)


def _print_several(
    runs: Sequence[EvaluationRun],
    shared: SharedTasks,
    *,
    html: Path | None,
    markdown_file: Path | None,
    as_json: bool,
) -> None:
    several = compare_several(shared)
    tables = several_tables(runs, several)
    lead = (*verdicts(runs, several), *caveats(runs, shared))
    if html is not None:
        from semif.evaluation.report.pages.several_page import several_page  # noqa: PLC0415 - matplotlib, for the page alone

        write(html, several_page(runs, shared, several))
    if markdown_file is not None:
        write(markdown_file, document("Comparison", lead, (*tables, choices_table(shared))))
    if as_json:
        told = zip(LETTERS, runs, shared.left_out, several.summaries, (None, *several.against), strict=False)
        print_json(
            {
                "runs": {
                    letter: {
                        "file": str(run.path),
                        "run": run.header.model_dump(mode="json", by_alias=True),
                        "left_out": left_out,
                        "summary": asdict(summary),
                        "against_a": asdict(against) if against is not None else None,
                    }
                    for letter, run, left_out, summary, against in told
                },
                "tasks": several.tasks,
                "unlike": shared.unlike,
                "groups": several.groups,
                "verdicts": verdicts(runs, several),
            }
        )
    else:
        _print(tables, lead)


def _print(tables: Sequence[ReportTable], lead: Sequence[str]) -> None:
    print_tables(Console(), tables)
    for sentence in lead:
        click.echo(sentence)
