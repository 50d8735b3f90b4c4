"""Probabilities to the answers of System One."""

from collections.abc import Callable, Sequence
from typing import Literal, TypedDict

from semif_adapter.contract.question import content_text
from semif_adapter.contract.wire import AppliedCalibration, Readout, Result, SharedTiming
from semif_adapter.forms.systemone.questions import TRUE
from semif_adapter.forms.systemone.types import (
    AnyAnswer,
    ChoiceAnswer,
    ChoiceQuestion,
    NoulAnswer,
    NoulQuestion,
    ScoreAnswer,
    ScoreQuestion,
    SystemOneInvocation,
    SystemOneResponse,
    Usage,
)

Confidence = Literal["reference", "peak"]
"""How sure a score is: by the spread around its most likely level, or by that level's probability alone.

A choice's confidence is the latter in both: its options have no distances.
"""


class _Ours(TypedDict):
    """The fields that every answer has from us."""

    x_readout: Readout
    x_allowed_token_mass: float | None
    x_calibration: AppliedCalibration | None


def to_response(
    request: SystemOneInvocation,
    results: Sequence[Result],
    timing: SharedTiming,
    confidence: Confidence,
) -> SystemOneResponse:
    """The reply to `request`; `results` are in the order of its questions."""
    answers = {
        name: _answer(question, result, confidence)
        for (name, question), result in zip(request.questions.items(), results, strict=True)
    }
    return SystemOneResponse(
        model=results[0].model.name,
        answers=answers,
        usage=Usage(input_tokens=sum(result.input_tokens for result in results)),
        x_timing=timing,
    )


def _answer(
    question: NoulQuestion | ChoiceQuestion | ScoreQuestion, result: Result, confidence: Confidence
) -> AnyAnswer:
    probabilities = dict(zip(result.option_ids, result.probabilities, strict=True))
    best = max(range(len(result.probabilities)), key=result.probabilities.__getitem__)
    ours: _Ours = {
        "x_readout": result.readout,
        "x_allowed_token_mass": result.allowed_token_mass,
        "x_calibration": result.calibration,
    }
    match question:
        case NoulQuestion():
            return NoulAnswer(noul=probabilities[TRUE], **ours)
        case ChoiceQuestion():
            return ChoiceAnswer(
                choice=result.option_ids[best],
                probabilities=probabilities,
                confidence=peak(result.probabilities),
                **ours,
            )
        case ScoreQuestion():
            formula: Callable[[Sequence[float]], float] = spread if confidence == "reference" else peak
            return ScoreAnswer(
                score=sum(level * probability for level, probability in enumerate(result.probabilities)),
                legend={str(level): content_text(text) for level, text in enumerate(question.criteria)},
                probabilities=probabilities,
                confidence=formula(result.probabilities),
                **ours,
            )


def peak(probabilities: Sequence[float]) -> float:
    """How far the largest of two or more probabilities is above an even share: 0 to 1."""
    even = 1 / len(probabilities)
    return _bounded((max(probabilities) - even) / (1 - even))


def spread(probabilities: Sequence[float]) -> float:
    """How closely two or more levels gather around the most likely one, 1; 0 where no closer than evenly."""
    count = len(probabilities)
    best = max(range(count), key=probabilities.__getitem__)
    distance = sum(probability * abs(level - best) for level, probability in enumerate(probabilities))
    even = sum(abs(level - (count - 1) / 2) for level in range(count)) / count
    return _bounded(1 - distance / even)


def _bounded(value: float) -> float:
    return min(1.0, max(0.0, value))
