"""A run's report as tables; what they say is `Summary`."""

from collections.abc import Iterator
from pathlib import Path

from semif.errors import SemifError
from semif.evaluation.figures.calibration_figures import CalibrationFigures
from semif.evaluation.figures.measures import BINS, Share, Spread
from semif.evaluation.figures.summary import Group, OrderSensitivity, Summary, TokenMass
from semif.evaluation.report.tables.cells import (
    ForeignText,
    duration,
    foreign_text,
    interval,
    part_of_whole,
    percent,
    three_decimals,
    whole_number,
)
from semif.evaluation.report.tables.run_facts import facts, is_asked, planned_tasks, variants_note
from semif.evaluation.report.tables.suite_table import suite_tables
from semif.evaluation.report.tables.table import ReportTable
from semif.evaluation.runs.run_file import EvaluationRun, RunHeader, read_run

_COUNTED = (
    "Options in the order as written. A task without a valid answer counts as not right. Guessing takes each "
    "option equally often."
)
GROUP_COLUMNS = ("valid", "right", "share", "95% interval", "guess")
"""Of a table of groups, after the column of their names."""


def read_judged_run(path: Path) -> EvaluationRun:
    """A run file that holds at least one task as written. Raises as `read_run` does."""
    run = read_run(path)
    if not any(record.order == 0 for record in run.records):
        raise SemifError(f"{path} holds no answer to a task as written: let `semif evaluate` go on with it")
    return run


def report_tables(header: RunHeader, summary: Summary) -> tuple[ReportTable, ...]:
    """Everything that a report tells, in the order of reading; what no reply told is left out."""
    tables = [_run_table(header, summary), _answers_table(header, summary)]
    tables += suite_tables({"this run": (header, summary)})
    tables += _group_tables(summary)
    if summary.client_seconds is not None and is_asked(header):
        tables.append(_latency_table(summary))
    tables.append(_asking_table(summary))
    if summary.calibration is not None:
        tables += [_calibration_table(summary.calibration), _reliability_table(summary.calibration)]
    if summary.order_sensitivity is not None:
        tables.append(_order_table(summary.order_sensitivity))
    if summary.allowed_token_mass is not None:
        tables.append(_mass_table(summary.allowed_token_mass))
    return tuple(tables)


def _run_table(header: RunHeader, summary: Summary) -> ReportTable:
    """Who was asked what, and how."""
    planned = planned_tasks(header)
    stopped = "" if summary.right.whole >= planned else f", of {planned:,}: the run is not complete"
    rows = (*facts(header).items(), ("tasks asked", f"{summary.right.whole:,}{stopped}"))
    return ReportTable("Run", ("", ""), rows, words=2)


def _answers_table(header: RunHeader, summary: Summary) -> ReportTable:
    """Valid and right answers, and what guessing would get."""
    notes = [_COUNTED, intervals_note(summary.right), variants_note(header), probabilities_note(summary)]
    rows = [
        ("valid answers", *_share_cells(summary.answered)),
        ("right, of all tasks", *_share_cells(summary.right)),
    ]
    if (valid := summary.right_of_answered) is not None and valid.whole != summary.right.whole:
        rows.append(("right, of the valid", *_share_cells(valid)))
    if summary.unnamed.part:
        rows.append(("words that name no option", *_share_cells(summary.unnamed)))
    rows.append(("guessing would get", "", percent(summary.guessing), ""))
    rows.append(("always the most frequent", "", percent(summary.most_frequent), ""))
    return ReportTable(
        "Answers",
        ("", "tasks", "share", "95% interval"),
        tuple(rows),
        note=" ".join(filter(None, notes)),
    )


def probabilities_note(summary: Summary) -> str | None:
    """Why figures of probabilities are left out, where they are."""
    if summary.calibration is not None:
        return None
    return "Figures of probabilities (calibration, reliability, log loss) are left out: no answer has any."


def intervals_note(share: Share) -> str:
    """Of which kind the intervals of a run are."""
    if share.groups is None:
        return "Intervals are Wilson's, each task by itself."
    return f"Intervals are Wilson's for whole groups, of which there are {share.groups:,}."


def _share_cells(share: Share) -> tuple[str, str, str]:
    """Cells under "tasks", "share" and "95% interval"."""
    return part_of_whole(share), percent(share.value), interval(share)


def _group_tables(summary: Summary) -> Iterator[ReportTable]:
    for title, groups in (("family", summary.families), ("kind", summary.kinds)):
        if any(group.name is not None for group in groups):
            yield ReportTable(
                f"Accuracy by {title}",
                (title, *GROUP_COLUMNS),
                tuple(map(group_cells, groups)),
            )


def group_cells(group: Group) -> tuple[str, ...]:
    """The group's name, and what stands under GROUP_COLUMNS."""
    right = group.right
    figures = (
        whole_number(group.answered),
        part_of_whole(right),
        percent(right.value),
        interval(right),
        percent(group.guessing),
    )
    return (foreign_text(group.name), *figures)


def _latency_table(summary: Summary) -> ReportTable:
    rows = (
        ("client", summary.client_seconds),
        ("server", summary.server_seconds),
        ("waited to be sent", summary.queue_seconds),
    )
    return ReportTable(
        "Latency",
        ("", "replies", "p50", "p90", "p95", "p99", "longest"),
        tuple(_latency_row(title, spread) for title, spread in rows if spread is not None),
        note="Client: from the request, or its planned arrival, to the end of the reply, retries included. "
        "Server: as the reply tells it.",
    )


def _latency_row(title: str, spread: Spread) -> tuple[str, ...]:
    return (
        title,
        whole_number(spread.count),
        *map(duration, (spread.p50, spread.p90, spread.p95, spread.p99, spread.highest)),
    )


def _asking_table(summary: Summary) -> ReportTable:
    rows = [("requests", whole_number(summary.requests))]
    rows += [(f"of these {status}", whole_number(times)) for status, times in summary.statuses.items()]
    rows += [("refusals met", whole_number(summary.refusals)), ("retries", whole_number(summary.retries))]
    rows += [
        (
            ForeignText(f"fault {fault.code}{f' ({fault.status})' if fault.status else ''}"),
            whole_number(fault.count),
        )
        for fault in summary.faults
    ]
    if (tokens := summary.input_tokens) is not None:
        rows += [
            ("prompt tokens of a request, p50", whole_number(tokens.p50)),
            ("prompt tokens of a request, p95", whole_number(tokens.p95)),
            ("prompt tokens of all", whole_number(summary.input_tokens_total)),
        ]
        if (cached := summary.cached_tokens_total) is not None:
            portion = cached / summary.input_tokens_total if summary.input_tokens_total else None
            rows.append(("of all cached", f"{whole_number(cached)} ({percent(portion)})"))
    if (written := summary.output_tokens) is not None:
        rows += [
            ("written tokens of an answer, p50", whole_number(written.p50)),
            ("written tokens of an answer, p95", whole_number(written.p95)),
        ]
    return ReportTable("Requests", ("", ""), tuple(rows))


def _calibration_table(calibration: CalibrationFigures) -> ReportTable:
    of_choices = (
        "Brier score and log loss need the probability of every option, and of some answers only that of the "
        "choice is known. "
    )
    return ReportTable(
        "Calibration",
        ("", "run", "even guess"),
        (
            ("expected calibration error", three_decimals(calibration.expected_calibration_error), ""),
            (
                "Brier score, 0 to 2",
                three_decimals(calibration.brier_score),
                three_decimals(calibration.brier_score_of_guessing),
            ),
            (
                "log loss, nats",
                three_decimals(calibration.log_loss),
                three_decimals(calibration.log_loss_of_guessing),
            ),
            ("mean confidence", percent(calibration.confidence), ""),
            ("accuracy of the same answers", percent(calibration.accuracy), ""),
        ),
        note=f"Over {calibration.count:,} answers with probabilities; lower is better in the first three. "
        f"{of_choices if calibration.log_loss is None else ''}"
        f"The calibration error has {BINS} bins of equal width and is never 0 for few answers. "
        "Even guess: the same probability for every option.",
    )


def _reliability_table(calibration: CalibrationFigures) -> ReportTable:
    return ReportTable(
        "Reliability",
        ("confidence", "answers", "mean confidence", "right", "95% interval"),
        tuple(
            (
                f"{one.low:.1f} to {one.high:.1f}",
                whole_number(one.right.whole),
                percent(one.confidence),
                percent(one.right.value),
                interval(one.right),
            )
            for one in calibration.bins
        ),
        note="Confidence is the probability of the choice. Where it can be believed, it equals the share of "
        "right answers.",
    )


def _order_table(sensitivity: OrderSensitivity) -> ReportTable:
    rows = [("choice hangs on the order", *_share_cells(sensitivity.changed))]
    rows += [(f"right in order {order}", *_share_cells(right)) for order, right in sensitivity.right]
    return ReportTable(
        "Order of the options",
        ("", "tasks", "share", "95% interval"),
        tuple(rows),
        note="Tasks that were answered in at least two orders. Order 0 is as written, the others are "
        "permutations; a task of two options has one further order only.",
    )


def _mass_table(mass: TokenMass) -> ReportTable:
    return ReportTable(
        "Allowed token mass",
        ("answers", "lowest", "p5", "p50"),
        ((whole_number(mass.count), percent(mass.lowest), percent(mass.p5), percent(mass.p50)),),
        words=0,
        note="Share of the model's whole probability that fell on the answer letters: low where the model "
        "would rather have said something else.",
    )
