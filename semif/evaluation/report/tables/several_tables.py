"""Several runs, A, B, C and so on, as tables: a row for each, and each against A."""

from collections.abc import Callable, Iterator, Sequence

from semif.evaluation.figures.several import Against, Several
from semif.evaluation.figures.shared_tasks import SharedTasks
from semif.evaluation.figures.summary import Summary
from semif.evaluation.report.tables.cells import (
    NONE,
    ForeignText,
    duration,
    foreign_text,
    interval,
    part_of_whole,
    percent,
    three_decimals,
    whole_number,
)
from semif.evaluation.report.tables.comparability import CHANCE, LETTERS, tasks, test_name
from semif.evaluation.report.tables.report_tables import intervals_note, probabilities_note
from semif.evaluation.report.tables.run_facts import TARGETS, is_asked
from semif.evaluation.report.tables.suite_table import suite_tables
from semif.evaluation.report.tables.table import ReportTable
from semif.evaluation.runs.run_file import EvaluationRun


def several_tables(runs: Sequence[EvaluationRun], several: Several) -> tuple[ReportTable, ...]:
    """Everything that the comparison tells, in the order of reading."""
    named = {
        letter: (run.header, summary)
        for letter, run, summary in zip(LETTERS, runs, several.summaries, strict=False)
    }
    return (
        _runs_table(runs),
        _answers_table(runs, several),
        _against_table(runs, several),
        _figures_table(runs, several),
        *suite_tables(named),
        *_families_table(several),
    )


def run_names(runs: Sequence[EvaluationRun]) -> list[str]:
    """What each run is called: its letter, and its file without the ending."""
    return [ForeignText(f"{letter} {run.path.stem}") for letter, run in zip(LETTERS, runs, strict=False)]


def verdicts(runs: Sequence[EvaluationRun], several: Several) -> list[str]:
    """How the others stand to the first, a sentence for each way."""
    _, *names = run_names(runs)
    standing: dict[str, list[str]] = {}
    for name, against in zip(names, several.against, strict=True):
        standing.setdefault(_standing(against), []).append(name)
    return [f"{way}: {', '.join(found)}." for way, found in sorted(standing.items(), reverse=True)]


def _standing(against: Against) -> str:
    only_first, only_this = against.only_first_right, against.only_this_right
    if against.p_adjusted >= CHANCE:
        return "No more apart from A than chance may explain"
    return f"Right {'less' if only_first > only_this else 'more'} often than A, by more than chance"


def _runs_table(runs: Sequence[EvaluationRun]) -> ReportTable:
    rows = (
        (
            name,
            TARGETS[run.header.target.kind],
            ForeignText(run.header.target.name),
            foreign_text(run.header.pins.model_name),
        )
        for name, run in zip(run_names(runs), runs, strict=True)
    )
    return ReportTable("Runs", ("run", "as", "asked", "model"), tuple(rows), words=4)


def _answers_table(runs: Sequence[EvaluationRun], several: Several) -> ReportTable:
    rows = (
        (
            name,
            whole_number(one.answered.part),
            whole_number(one.unnamed.part),
            part_of_whole(one.right),
            percent(one.right.value),
            interval(one.right),
        )
        for name, one in zip(run_names(runs), several.summaries, strict=True)
    )
    first = several.summaries[0]
    return ReportTable(
        "Answers",
        ("run", "valid", "no option", "right", "share", "95% interval"),
        tuple(rows),
        note=f"Over {tasks(several.tasks)} that all asked. Guessing gets {percent(first.guessing)}. "
        f"No option: words that name none. {intervals_note(first.right)}",
    )


def _against_table(runs: Sequence[EvaluationRun], several: Several) -> ReportTable:
    _, *names = run_names(runs)
    rows = (
        (
            name,
            whole_number(one.only_first_right),
            whole_number(one.only_this_right),
            whole_number(one.other_choice),
            f"{one.p_value:.3g}",
            f"{one.p_adjusted:.3g}",
        )
        for name, one in zip(names, several.against, strict=True)
    )
    return ReportTable(
        "Against A",
        ("run", "only A right", "only it right", "another choice", "p", "p, Holm"),
        tuple(rows),
        note=f"p by {test_name(several.groups)}; Holm's is adjusted for the number of runs. Runs are "
        "held against A and not against each other. The best of many is flattered by having been picked.",
    )


def _figures_table(runs: Sequence[EvaluationRun], several: Several) -> ReportTable:
    rows = (
        (name, *(shown(value) for value, shown in _figures(one, asked=is_asked(run.header))))
        for name, run, one in zip(run_names(runs), runs, several.summaries, strict=True)
    )
    without = any(probabilities_note(one) for one in several.summaries)
    of_choices = any(one.calibration and one.calibration.log_loss is None for one in several.summaries)
    return ReportTable(
        "Figures",
        ("run", "client p50", "client p95", "calibration error", "Brier score", "log loss"),
        tuple(rows),
        note="Times are missing where nobody was asked"
        + (", the last three where answers have no probabilities" if without else "")
        + (", the last two where they have that of their choice alone" if of_choices else "")
        + ".",
    )


def _figures(
    summary: Summary, *, asked: bool
) -> Iterator[tuple[float | None, Callable[[float | None], str]]]:
    seconds, calibration = summary.client_seconds, summary.calibration
    yield (seconds.p50 if seconds and asked else None), duration
    yield (seconds.p95 if seconds and asked else None), duration
    yield (calibration.expected_calibration_error if calibration else None), three_decimals
    yield (calibration.brier_score if calibration else None), three_decimals
    yield (calibration.log_loss if calibration else None), three_decimals


def _families_table(several: Several) -> Iterator[ReportTable]:
    families = several.summaries[0].families
    if all(group.name is None for group in families):
        return
    of_runs = [{group.name: group.right for group in one.families} for one in several.summaries]
    rows = (
        (
            foreign_text(group.name),
            whole_number(group.right.whole),
            *(percent(rights[group.name].value) if group.name in rights else NONE for rights in of_runs),
        )
        for group in families
    )
    letters = LETTERS[: len(of_runs)]
    yield ReportTable("Right by family", ("family", "tasks", *letters), tuple(rows))


def choices_table(shared: SharedTasks) -> ReportTable:
    """The tasks on which not all runs chose the same."""
    rows = (
        (
            ForeignText(same[0].task),
            foreign_text(same[0].family),
            ForeignText(same[0].expected),
            *(foreign_text(one.choice) for one in same),
        )
        for same in zip(*shared.records, strict=True)
        if same[0].order == 0 and len({one.choice for one in same}) > 1
    )
    letters = LETTERS[: len(shared.records)]
    return ReportTable(
        "Tasks on which not all chose the same",
        ("task", "family", "expected", *letters),
        tuple(rows),
        words=3 + len(letters),
    )
