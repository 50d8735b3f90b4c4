"""A comparison of two runs, A and B, as tables."""

from collections.abc import Callable, Iterator

from semif.evaluation.figures.compare import Comparison
from semif.evaluation.figures.summary import Summary
from semif.evaluation.report.tables.cells import (
    NONE,
    ForeignText,
    duration,
    foreign_text,
    interval,
    percent,
    three_decimals,
    whole_number,
)
from semif.evaluation.report.tables.comparability import CHANCE, tasks, test_name
from semif.evaluation.report.tables.run_facts import facts, is_asked
from semif.evaluation.report.tables.suite_table import suite_tables
from semif.evaluation.report.tables.table import ReportTable
from semif.evaluation.runs.run_file import EvaluationRun, RunHeader

Figure = tuple[float, Callable[[float | None], str]]
"""A number, and how it is written."""


def comparison_tables(
    first: EvaluationRun, second: EvaluationRun, comparison: Comparison
) -> tuple[ReportTable, ...]:
    """Everything that the comparison tells, in the order of reading."""
    return (
        _runs_table(first.header, second.header),
        _figures_table(first.header, second.header, comparison),
        *suite_tables({"A": (first.header, comparison.first), "B": (second.header, comparison.second)}),
        *_families_table(comparison),
        _agreement_table(comparison),
        _differences_table(comparison),
    )


def verdict(comparison: Comparison) -> str:
    """Whether B's accuracy differs from A's by more than chance, in a sentence."""
    if not comparison.differences:
        return f"No difference: the same choice on {tasks(comparison.tasks)}."
    only_a, only_b = comparison.only_first_right, comparison.only_second_right
    if only_a == only_b:
        differ = tasks(len(comparison.differences))
        return f"A and B are right equally often; they chose differently on {differ}."
    split = (
        f"Only A is right on {tasks(only_a)}, only B on {tasks(only_b)} "
        f"({test_name(comparison.groups)}: p = {comparison.p_value:.3g})"
    )
    if comparison.p_value >= CHANCE:
        return f"{split}: chance alone may explain the difference in accuracy."
    better = "A" if only_a > only_b else "B"
    return f"{split}: {better} is right more often, by more than chance."


def _differences_table(comparison: Comparison) -> ReportTable:
    """The tasks on which the two chose differently."""
    return ReportTable(
        "Tasks on which A and B differ",
        ("task", "family", "expected", "A", "B"),
        tuple(
            (
                ForeignText(one.task),
                foreign_text(one.family),
                ForeignText(one.expected),
                foreign_text(one.first),
                foreign_text(one.second),
            )
            for one in comparison.differences
        ),
        words=5,
        note="" if comparison.differences else "None.",
    )


def _runs_table(first: RunHeader, second: RunHeader) -> ReportTable:
    here, there = facts(first), facts(second)
    rows = ((title, here.get(title, NONE), there.get(title, NONE)) for title in here | there)
    return ReportTable("Runs", ("", "A", "B"), tuple(rows), words=3)


def _figures_table(first: RunHeader, second: RunHeader, comparison: Comparison) -> ReportTable:
    unnamed = any(side.unnamed.part for side in (comparison.first, comparison.second))
    here = _figures(comparison.first, asked=is_asked(first), unnamed=unnamed)
    there = _figures(comparison.second, asked=is_asked(second), unnamed=unnamed)
    rows = []
    for title, (_, shown) in (there | here).items():
        one, other = (side[title][0] if title in side else None for side in (here, there))
        rows.append((title, shown(one), shown(other), ratio(one, other)))
    return ReportTable(
        "Figures",
        ("", "A", "B", "B / A"),
        tuple(rows),
        note=f"Over {tasks(comparison.tasks)} that both asked. "
        f"Guessing gets {percent(comparison.first.guessing)}.",
    )


def _figures(summary: Summary, *, asked: bool, unnamed: bool) -> dict[str, Figure]:
    """What there is of a side, by its title; where nobody was asked there are no times.

    `unnamed`: one of the sides has answers in words that name no option, so that both are told, 0 too.
    """
    figures: dict[str, Figure] = {
        "valid answers": (summary.answered.part, whole_number),
        "right": (summary.right.part, whole_number),
        "share right": (summary.right.value, percent),
    }
    if unnamed:
        figures["words that name no option"] = (summary.unnamed.part, whole_number)
    for title, spread in (("client", summary.client_seconds), ("server", summary.server_seconds)):
        if spread is not None and asked:
            figures |= {
                f"{title} p50": (spread.p50, duration),
                f"{title} p90": (spread.p90, duration),
                f"{title} p95": (spread.p95, duration),
                f"{title} p99": (spread.p99, duration),
            }
    if (tokens := summary.input_tokens) is not None:
        figures["prompt tokens, p50"] = (tokens.p50, whole_number)
        if (cached := summary.cached_tokens_total) is not None:
            figures["cached tokens, share"] = (cached / max(1, summary.input_tokens_total), percent)
    if summary.output_tokens is not None:
        figures["written tokens, p50"] = (summary.output_tokens.p50, whole_number)
    figures |= {"refusals met": (summary.refusals, whole_number), "retries": (summary.retries, whole_number)}
    if (calibration := summary.calibration) is not None:
        figures |= {
            "calibration error": (calibration.expected_calibration_error, three_decimals),
        }
        scores = {"Brier score": calibration.brier_score, "log loss": calibration.log_loss}
        figures |= {title: (score, three_decimals) for title, score in scores.items() if score is not None}
    if (order := summary.order_sensitivity) is not None:
        figures["hangs on the order"] = (order.changed.value, percent)
    if (mass := summary.allowed_token_mass) is not None:
        figures["allowed token mass, p50"] = (mass.p50, percent)
    return figures


def ratio(one: float | None, other: float | None) -> str:
    """`other` / `one`."""
    return NONE if not one or other is None else f"{other / one:.2f}"


def _families_table(comparison: Comparison) -> Iterator[ReportTable]:
    if all(group.name is None for group in comparison.first.families):
        return
    theirs = {group.name: group.right for group in comparison.second.families}
    rows = []
    for group in comparison.first.families:
        one, other = group.right, theirs.get(group.name)
        cells = (percent(other.value), interval(other)) if other else (NONE, NONE)
        rows.append(
            (foreign_text(group.name), whole_number(one.whole), percent(one.value), interval(one), *cells)
        )
    yield ReportTable(
        "Accuracy by family",
        ("family", "tasks", "A", "95% interval", "B", "95% interval"),
        tuple(rows),
    )


def _agreement_table(comparison: Comparison) -> ReportTable:
    return ReportTable(
        "Agreement",
        ("", "tasks"),
        (
            ("both right", whole_number(comparison.both_right)),
            ("only A right", whole_number(comparison.only_first_right)),
            ("only B right", whole_number(comparison.only_second_right)),
            ("neither right", whole_number(comparison.neither_right)),
            ("another choice", whole_number(len(comparison.differences))),
            (f"p, {test_name(comparison.groups)}", f"{comparison.p_value:.3g}"),
        ),
        note=verdict(comparison),
    )
