"""Probabilities to the answers of System One."""

from collections.abc import Sequence
from typing import TypedDict

from semif_adapter.contract.question import content_text
from semif_adapter.contract.wire import AppliedCalibration, Readout, Result, SharedTiming
from semif_adapter.forms.confidence import Confidence, expected_level, of_score, peak
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
            return ScoreAnswer(
                score=expected_level(result.probabilities),
                legend={str(level): content_text(text) for level, text in enumerate(question.criteria)},
                probabilities=probabilities,
                confidence=of_score(confidence)(result.probabilities),
                **ours,
            )
