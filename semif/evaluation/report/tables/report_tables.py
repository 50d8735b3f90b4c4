"""A run's report as tables; what they say is `Summary`."""

from collections.abc import Iterator
from datetime import UTC
from pathlib import Path

from semif.errors import SemifError
from semif.evaluation.figures.measures import BINS, Share, Spread
from semif.evaluation.figures.summary import CalibrationFigures, Group, OrderSensitivity, Summary, TokenMass
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
from semif.evaluation.report.tables.suite_table import suite_tables
from semif.evaluation.report.tables.table import ReportTable
from semif.evaluation.runs.run_file import Asking, EvaluationRun, RunHeader, read_run

SHARE_ALIKE = 0.05
"""Of a run's tasks, from which on it is told that they look like variants: a few alike change no interval."""
_COUNTED = (
    "Options in the order as written. A task without a valid answer counts as not right. Guessing takes each "
    "option equally often."
)
GROUP_COLUMNS = ("valid", "right", "share", "95% interval", "guess")
"""Of a table of groups, after the column of their names."""
TARGETS = {
    "baseline": "classifier trained on these labels",
    "endpoint": "SageMaker endpoint",
    "adapter": "adapter",
    "system-one": "System One server",
    "chat": "chat, which writes its answer",
}


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


def report_title(header: RunHeader) -> str:
    """The model where the replies name one; elsewhere who was asked."""
    return f"Evaluation of {ForeignText(header.pins.model_name or header.target.name)}"


def _run_table(header: RunHeader, summary: Summary) -> ReportTable:
    """Who was asked what, and how."""
    planned = planned_tasks(header)
    stopped = "" if summary.right.whole >= planned else f", of {planned:,}: the run is not complete"
    rows = (*facts(header).items(), ("tasks asked", f"{summary.right.whole:,}{stopped}"))
    return ReportTable("Run", ("", ""), rows, words=2)


def planned_tasks(header: RunHeader) -> int:
    """How many tasks the run is to ask."""
    total = sum(tasks.count for tasks in header.tasks)
    return total if header.asking.limit is None else min(total, header.asking.limit)


def is_asked(header: RunHeader) -> bool:
    """Whether somebody was asked: a baseline waits for no reply, so that latency tells nothing of it."""
    return header.target.kind != "baseline"


def how_asked(asking: Asking) -> str:
    """By how many callers, or at which rate."""
    return f"{asking.concurrency} at a time" if asking.rate is None else f"{asking.rate:g} arrivals a second"


def facts(header: RunHeader) -> dict[str, str]:
    """What a run's header tells, by its title; what it does not tell is left out."""
    pins, asking, machine = header.pins, header.asking, header.machine
    known: dict[str, str | None] = {
        "asked": header.target.name,
        "as": TARGETS[header.target.kind],
        "model": pins.model_name,
        "model file, SHA-256": pins.model.sha256 if pins.model else None,
        "prompt": pins.prompt_version,
        "calibration, SHA-256": pins.calibration,
        "model data": pins.model_data,
        "image": pins.image,
        "tasks": ", ".join(f"{tasks.name} ({tasks.sha256[:12]}…)" for tasks in header.tasks),
        "orders of the options": f"as written and up to {asking.orders} further, seed {asking.seed}",
        "how": how_asked(asking) if is_asked(header) else None,
        "from": f"{machine.cpu}, CPUs: {machine.cpus}, load {machine.load_average[0]:.1f} at the start",
        "began": f"{header.started.astimezone(UTC):%Y-%m-%d %H:%M} UTC",
        "semif": f"{machine.semif}, commit {machine.commit}",
    }
    if not asking.orders:
        del known["orders of the options"]
    return {title: ForeignText(text) for title, text in known.items() if text}


def _answers_table(header: RunHeader, summary: Summary) -> ReportTable:
    """Valid and right answers, and what guessing would get."""
    variants = variants_note(header)
    rows = [
        ("valid answers", *_share_cells(summary.answered)),
        ("right, of all tasks", *_share_cells(summary.right)),
    ]
    if (valid := summary.right_of_answered) is not None and valid.whole != summary.right.whole:
        rows.append(("right, of the valid", *_share_cells(valid)))
    rows.append(("guessing would get", "", percent(summary.guessing), ""))
    rows.append(("always the most frequent", "", percent(summary.most_frequent), ""))
    return ReportTable(
        "Answers",
        ("", "tasks", "share", "95% interval"),
        tuple(rows),
        note=f"{_COUNTED} {intervals_note(summary.right)}{f' {variants}' if variants else ''}",
    )


def variants_note(header: RunHeader) -> str | None:
    """That tasks look like variants of each other, where more than a few do."""
    alike, count = sum(file.alike for file in header.tasks), sum(file.count for file in header.tasks)
    if alike < SHARE_ALIKE * count or not alike:
        return None
    return (
        f"{alike:,} of {count:,} tasks look like variants of others without a group in common. Intervals and "
        "tests take them for independent and promise too much: give variants the same `group`."
    )


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
