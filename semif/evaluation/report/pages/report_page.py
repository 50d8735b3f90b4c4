"""A run's report as a page."""

from collections.abc import Iterator, Sequence

from semif.evaluation.figures.summary import Summary, is_replied
from semif.evaluation.report.pages.page import Tile, page
from semif.evaluation.report.pages.pictures import (
    accuracy_picture,
    latency_picture,
    reliability_picture,
    tokens_picture,
)
from semif.evaluation.report.pages.svg import Picture
from semif.evaluation.report.tables.cells import (
    ForeignText,
    duration,
    foreign_text,
    interval,
    part_of_whole,
    percent,
    three_decimals,
)
from semif.evaluation.report.tables.run_facts import (
    TARGETS,
    is_asked,
    planned_tasks,
    report_title,
    variants_note,
)
from semif.evaluation.report.tables.table import ReportTable
from semif.evaluation.runs.run_file import EvaluationRun, RunHeader


def report_page(
    run: EvaluationRun, summary: Summary, tables: Sequence[ReportTable], mistakes: ReportTable | None
) -> str:
    """The page, with the report's `tables`; see `page`. `mistakes` have the tasks' texts."""
    header = run.header
    return page(
        title=report_title(header),
        lead=" · ".join(_lead(run)),
        warnings=_warnings(run, summary),
        tiles=tuple(_tiles(header, summary)),
        pictures=tuple(_pictures(run, summary)),
        tables=tables,
        lists=[*([mistakes] if mistakes else []), *([_wrong_table(summary)] if summary.wrong else [])],
        command="semif evaluate report",
    )


def _wrong_table(summary: Summary) -> ReportTable:
    """The tasks answered wrong, the most confident first."""
    return ReportTable(
        "Tasks answered wrong",
        ("task", "family", "expected", "chosen", "confidence"),
        tuple(
            (
                ForeignText(wrong.task),
                foreign_text(wrong.family),
                ForeignText(wrong.expected),
                ForeignText(wrong.choice),
                percent(wrong.probability),
            )
            for wrong in summary.wrong
        ),
        words=4,
    )


def _lead(run: EvaluationRun) -> Iterator[str]:
    header = run.header
    yield f"{TARGETS[header.target.kind]}: {ForeignText(header.target.name)}"
    yield from (ForeignText(tasks.name) for tasks in header.tasks)
    yield f"{header.started:%Y-%m-%d %H:%M} UTC"


def _warnings(run: EvaluationRun, summary: Summary) -> tuple[str, ...]:
    planned = planned_tasks(run.header)
    warnings = [variants] if (variants := variants_note(run.header)) else []
    if summary.right.whole < planned:
        warnings.append(f"The run is not complete: {summary.right.whole:,} of {planned:,} tasks were asked.")
    return tuple(warnings)


def _tiles(header: RunHeader, summary: Summary) -> Iterator[Tile]:
    right = summary.right
    yield Tile("right", percent(right.value), f"{interval(right)}, {part_of_whole(right)}")
    yield Tile("guessing would get", percent(summary.guessing), "each option equally often")
    yield Tile("valid answers", percent(summary.answered.value), part_of_whole(summary.answered))
    if (client := summary.client_seconds) is not None and is_asked(header):
        yield Tile("median latency", duration(client.p50), f"p95 {duration(client.p95)}, at the client")
    if (calibration := summary.calibration) is not None:
        error = three_decimals(calibration.expected_calibration_error)
        yield Tile("calibration error", error, "0: as confident as right")
    if summary.order_sensitivity is not None:
        changed = summary.order_sensitivity.changed
        yield Tile("hangs on the order", percent(changed.value), f"{part_of_whole(changed)} tasks")


def _pictures(run: EvaluationRun, summary: Summary) -> Iterator[Picture]:
    yield accuracy_picture({"right": summary.families})
    if summary.calibration is not None:
        yield reliability_picture({"answers": summary.calibration.bins})
    replied = [record for record in run.records if is_replied(record)]
    if replied and is_asked(run.header):
        client = [record.client_seconds for record in replied]
        server = [record.server_seconds for record in replied if record.server_seconds is not None]
        yield latency_picture({"client": client} | ({"server": server} if server else {}))
    points = [
        (record.input_tokens, record.client_seconds) for record in replied if record.input_tokens is not None
    ]
    if points:
        yield tokens_picture({"client": points})
