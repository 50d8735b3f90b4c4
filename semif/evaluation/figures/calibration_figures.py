"""How far the probabilities of answers can be believed.

Some answers tell the probability of every option, others that of their choice alone. Confidence and what is
made of it take both; the scores over all options take the former.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from semif.evaluation.figures.measures import (
    Bin,
    brier_score,
    expected_calibration_error,
    log_loss,
    reliability,
)
from semif.evaluation.runs.run_file import Record


@dataclass(frozen=True)
class CalibrationFigures:
    """Over the answers that have a confidence; the scores are None where one of them has only that."""

    count: int
    confidence: float
    """Mean probability of the choice."""
    accuracy: float
    expected_calibration_error: float
    brier_score: float | None
    brier_score_of_guessing: float | None
    """What the same probability for every option would score."""
    log_loss: float | None
    log_loss_of_guessing: float | None
    bins: tuple[Bin, ...]


def calibration_figures(answered: Sequence[Record]) -> CalibrationFigures | None:
    """Of answers to tasks as written; None where none has a confidence."""
    judged = [(record, sure) for record in answered if (sure := record.choice_probability) is not None]
    if not judged:
        return None
    confidences = np.array([sure for _, sure in judged])
    right = [record.choice == record.expected for record, _ in judged]
    rows = [record.probabilities for record, _ in judged if record.probabilities is not None]
    scored = len(rows) == len(judged)
    even = [[1 / len(row)] * len(row) for row in rows]
    places = [record.option_ids.index(record.expected) for record, _ in judged]
    return CalibrationFigures(
        count=len(judged),
        confidence=float(confidences.mean()),
        accuracy=float(np.mean(right)),
        expected_calibration_error=expected_calibration_error(confidences, right),
        brier_score=brier_score(rows, places) if scored else None,
        brier_score_of_guessing=brier_score(even, places) if scored else None,
        log_loss=log_loss(rows, places) if scored else None,
        log_loss_of_guessing=log_loss(even, places) if scored else None,
        bins=reliability(confidences, right, groups=[record.cluster for record, _ in judged]),
    )
