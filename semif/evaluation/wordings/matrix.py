"""Several runs of the same tasks in different words: what each gets, and which differ by more than chance."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from scipy.stats import false_discovery_control

from semif.evaluation.figures.compare import compare
from semif.evaluation.figures.measures import Share
from semif.evaluation.figures.shared_tasks import shared_tasks
from semif.evaluation.figures.summary import summarise
from semif.evaluation.report.tables.cells import ForeignText, interval, part_of_whole, percent, three_decimals
from semif.evaluation.report.tables.report_tables import intervals_note
from semif.evaluation.report.tables.table import ReportTable
from semif.evaluation.runs.run_file import EvaluationRun


@dataclass(frozen=True)
class WordingFigures:
    """What one wording gets."""

    name: str
    right: Share
    log_loss: float | None
    """None where answers have no probabilities."""


@dataclass(frozen=True)
class WordingPair:
    """Two wordings on the same tasks; `p_value` as in `Comparison`."""

    first: str
    second: str
    only_first_right: int
    only_second_right: int
    p_value: float
    p_adjusted: float
    """For the number of pairs, by Benjamini and Hochberg: a share of at most so many of the pairs called
    different at this value are not."""


@dataclass(frozen=True)
class WordingsMatrix:
    """All wordings, the one that gets most first, and all pairs of them."""

    wordings: tuple[WordingFigures, ...]
    pairs: tuple[WordingPair, ...]


def wordings_matrix(runs: Mapping[str, EvaluationRun]) -> WordingsMatrix:
    """The matrix of at least two runs of the same tasks, by the names of their wordings."""
    summaries = {name: summarise(run.records) for name, run in runs.items()}
    figures = [
        WordingFigures(name, told.right, told.calibration.log_loss if told.calibration else None)
        for name, told in summaries.items()
    ]
    figures.sort(key=lambda one: -one.right.value)
    compared = [
        (one.name, other.name, compare(*shared_tasks((runs[one.name], runs[other.name])).records))
        for one, other in combinations(figures, 2)
    ]
    adjusted = false_discovery_control([found.p_value for _, _, found in compared], method="bh")
    return WordingsMatrix(
        tuple(figures),
        tuple(
            WordingPair(
                one, other, found.only_first_right, found.only_second_right, found.p_value, float(value)
            )
            for (one, other, found), value in zip(compared, adjusted, strict=True)
        ),
    )


def matrix_tables(matrix: WordingsMatrix) -> tuple[ReportTable, ...]:
    """What each wording gets, and the matrix of the adjusted p values."""
    figures = matrix.wordings
    return (
        ReportTable(
            "Wordings",
            ("wording", "right", "share", "95% interval", "log loss"),
            tuple(
                (
                    ForeignText(one.name),
                    part_of_whole(one.right),
                    percent(one.right.value),
                    interval(one.right),
                    three_decimals(one.log_loss),
                )
                for one in figures
            ),
            note=intervals_note(figures[0].right),
        ),
        ReportTable(
            "Do they differ by more than chance?",
            ("", *(ForeignText(one.name) for one in figures[1:])),
            tuple(_row(one.name, [other.name for other in figures[1:]], matrix) for one in figures[:-1]),
            note="p of the paired test, adjusted for the number of pairs (Benjamini-Hochberg). The best of "
            "many wordings is flattered: look at it on other tasks before relying on its figure.",
        ),
    )


def _row(name: str, others: Sequence[str], matrix: WordingsMatrix) -> tuple[str, ...]:
    values = {one.second: f"{one.p_adjusted:.3g}" for one in matrix.pairs if one.first == name}
    return (ForeignText(name), *(values.get(other, "") for other in others))
