"""A run's breakdown as tables.

Columns have names of ours alone: options stand in rows, and columns are numbered by them.
"""

from collections.abc import Iterator, Mapping, Sequence

from semif.evaluation.figures.breakdown import Breakdown, Confusion
from semif.evaluation.figures.summary import MIN_ALIKE, Wrong
from semif.evaluation.report.tables.cells import ForeignText, foreign_text, percent, whole_number
from semif.evaluation.report.tables.report_tables import GROUP_COLUMNS, group_cells
from semif.evaluation.report.tables.table import ReportTable

WIDEST = 12
"""Most options whose confusions are shown one by one: more columns are not read."""
_OPTIONS_NOTE = (
    "A row counts the tasks that expect its option, by the number of the one that they chose; none: no valid "
    "answer. Recall: how many of them chose it. Precision: how many of those that chose it expect it; --json "
    f"has intervals. Told where at least {MIN_ALIKE} tasks of a family have the same options; of more than "
    f"{WIDEST} options without the single confusions."
)
MAX_MISTAKES = 20
"""Most mistakes that are shown with their texts, the most confident ones."""


def breakdown_tables(breakdown: Breakdown) -> Iterator[ReportTable]:
    """By slice, and by option for each set of options; what a run has none of is left out."""
    if breakdown.slices:
        rows = (
            (ForeignText(one.name), *group_cells(group)) for one in breakdown.slices for group in one.groups
        )
        yield ReportTable("Accuracy by slice", ("slice", "value", *GROUP_COLUMNS), tuple(rows), words=2)
    for place, confusion in enumerate(breakdown.confusions, 1):
        last = place == len(breakdown.confusions)
        yield _options_table(confusion, note=_OPTIONS_NOTE if last else "")


def _options_table(confusion: Confusion, *, note: str) -> ReportTable:
    options = confusion.options
    numbers = [str(number) for number in range(1, len(options) + 1)]
    if len(options) <= WIDEST:
        columns = (*numbers, "none")
        counts = confusion.counts
    else:
        columns = ("expected", "chosen")
        counts = tuple((one.expected, one.chosen) for one in options)
    rows = (
        (
            foreign_text(confusion.family),
            number,
            ForeignText(one.option),
            *map(whole_number, cells),
            percent(one.recall.value if one.recall else None),
            percent(one.precision.value if one.precision else None),
        )
        for number, one, cells in zip(numbers, options, counts, strict=True)
    )
    return ReportTable(
        "Options",
        ("family", "", "expected", *columns, "recall", "precision"),
        tuple(rows),
        words=3,
        note=note,
    )


def mistakes_table(wrong: Sequence[Wrong], texts: Mapping[str, str]) -> ReportTable:
    """The most confident wrong answers with the states of their tasks, by the tasks' ids."""
    return ReportTable(
        "Worst mistakes",
        ("task", "expected", "chosen", "state", "confidence"),
        tuple(
            (
                ForeignText(one.task),
                ForeignText(one.expected),
                ForeignText(one.choice),
                foreign_text(texts.get(one.task)),
                percent(one.probability),
            )
            for one in wrong[:MAX_MISTAKES]
        ),
        words=4,
    )
