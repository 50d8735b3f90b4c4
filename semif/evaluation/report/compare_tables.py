"""A comparison of two runs, A and B, as tables."""

from collections.abc import Callable, Iterator

from semif.evaluation.report.compare import Comparison, Pairs
from semif.evaluation.report.report_tables import facts, how_asked
from semif.evaluation.report.summary import Summary
from semif.evaluation.report.table import NONE, Name, Table, count, interval, name, number, percent, seconds
from semif.evaluation.runs.run_file import Header, Run

Figure = tuple[float, Callable[[float | None], str]]
"""A number, and how it is written."""
CHANCE = 0.05
"""A p value below this is called more than chance."""


def comparison_tables(first: Run, second: Run, found: Comparison) -> tuple[Table, ...]:
    """Everything that the comparison tells, in the order of reading."""
    return (
        _runs_table(first.header, second.header),
        _figures_table(found),
        *_families_table(found),
        _agreement_table(found),
        _differences_table(found),
    )


def verdict(found: Comparison) -> str:
    """Whether B's accuracy differs from A's by more than chance, in a sentence."""
    if not found.differences:
        return f"No difference: the same choice on {tasks(found.tasks)}."
    if found.only_first_right == found.only_second_right:
        return f"A and B are right equally often; they chose differently on {tasks(len(found.differences))}."
    split = (
        f"Only A is right on {tasks(found.only_first_right)}, only B on {tasks(found.only_second_right)} "
        f"(McNemar's exact test: p = {found.p_value:.3g})"
    )
    if found.p_value >= CHANCE:
        return f"{split}: chance alone may explain the difference in accuracy."
    better = "A" if found.only_first_right > found.only_second_right else "B"
    return f"{split}: {better} is right more often, by more than chance."


def caveats(first: Run, second: Run, pairs: Pairs) -> tuple[str, ...]:
    """What keeps the two runs from being compared as they stand."""
    told = []
    if {file.sha256 for file in first.header.tasks} != {file.sha256 for file in second.header.tasks}:
        told.append("The runs are of different files of tasks: a task of the same id may have another text.")
    for title, missing in (("A", pairs.only_in_first), ("B", pairs.only_in_second)):
        if missing:
            told.append(f"Left out: {tasks(missing)} that only {title} asked.")
    if pairs.unlike:
        told.append(f"Left out: {tasks(pairs.unlike)} with other options, or another expected one.")
    if how_asked(first.header.asking) != how_asked(second.header.asking):
        told.append("The runs were asked differently: their latencies do not compare.")
    return tuple(told)


def _differences_table(found: Comparison) -> Table:
    """The tasks on which the two chose differently."""
    return Table(
        "Tasks on which A and B differ",
        ("task", "family", "expected", "A", "B"),
        tuple(
            (Name(one.task), name(one.family), Name(one.expected), name(one.first), name(one.second))
            for one in found.differences
        ),
        words=5,
        note="" if found.differences else "None.",
    )


def _runs_table(first: Header, second: Header) -> Table:
    here, there = facts(first), facts(second)
    rows = ((title, here.get(title, NONE), there.get(title, NONE)) for title in here | there)
    return Table("Runs", ("", "A", "B"), tuple(rows), words=3)


def _figures_table(found: Comparison) -> Table:
    here, there = _figures(found.first), _figures(found.second)
    rows = []
    for title, (_, shown) in (there | here).items():
        one, other = (side[title][0] if title in side else None for side in (here, there))
        rows.append((title, shown(one), shown(other), ratio(one, other)))
    return Table(
        "Figures",
        ("", "A", "B", "B / A"),
        tuple(rows),
        note=f"Over {tasks(found.tasks)} that both asked. Guessing gets {percent(found.first.guessing)}.",
    )


def _figures(found: Summary) -> dict[str, Figure]:
    """What there is of a side, by its title."""
    figures: dict[str, Figure] = {
        "valid answers": (found.answered.part, count),
        "right": (found.right.part, count),
        "share right": (found.right.value, percent),
    }
    for title, spread in (("client", found.client_seconds), ("server", found.server_seconds)):
        if spread is not None:
            figures |= {
                f"{title} p50": (spread.p50, seconds),
                f"{title} p90": (spread.p90, seconds),
                f"{title} p95": (spread.p95, seconds),
                f"{title} p99": (spread.p99, seconds),
            }
    if (tokens := found.input_tokens) is not None:
        figures["prompt tokens, p50"] = (tokens.p50, count)
        if (cached := found.cached_tokens_total) is not None:
            figures["cached tokens, share"] = (cached / max(1, found.input_tokens_total), percent)
    if found.output_tokens is not None:
        figures["written tokens, p50"] = (found.output_tokens.p50, count)
    figures |= {"refusals met": (found.refusals, count), "retries": (found.retries, count)}
    if (calibration := found.calibration) is not None:
        figures |= {
            "calibration error": (calibration.expected_calibration_error, number),
            "Brier score": (calibration.brier_score, number),
            "log loss": (calibration.log_loss, number),
        }
    if (order := found.order_sensitivity) is not None:
        figures["hangs on the order"] = (order.changed.value, percent)
    if (mass := found.allowed_token_mass) is not None:
        figures["allowed token mass, p50"] = (mass.p50, percent)
    return figures


def tasks(number_of: int) -> str:
    """1 task, 2 tasks."""
    return f"{number_of:,} task{'' if number_of == 1 else 's'}"


def ratio(one: float | None, other: float | None) -> str:
    """`other` / `one`."""
    return NONE if not one or other is None else f"{other / one:.2f}"


def _families_table(found: Comparison) -> Iterator[Table]:
    if all(group.name is None for group in found.first.families):
        return
    theirs = {group.name: group.right for group in found.second.families}
    rows = []
    for group in found.first.families:
        one, other = group.right, theirs.get(group.name)
        cells = (percent(other.value), interval(other)) if other else (NONE, NONE)
        rows.append((name(group.name), count(one.whole), percent(one.value), interval(one), *cells))
    yield Table(
        "Accuracy by family",
        ("family", "tasks", "A", "95% interval", "B", "95% interval"),
        tuple(rows),
    )


def _agreement_table(found: Comparison) -> Table:
    return Table(
        "Agreement",
        ("", "tasks"),
        (
            ("both right", count(found.both_right)),
            ("only A right", count(found.only_first_right)),
            ("only B right", count(found.only_second_right)),
            ("neither right", count(found.neither_right)),
            ("another choice", count(len(found.differences))),
            ("p (McNemar, exact)", f"{found.p_value:.3g}"),
        ),
        note=verdict(found),
    )
