"""Probabilities to the answers of the Decisions API."""

from collections.abc import Sequence
from typing import TypedDict

from semif_adapter.contract.wire import AppliedCalibration, Readout, Result, SharedTiming
from semif_adapter.forms.confidence import Confidence, expected_level, of_score, peak
from semif_adapter.forms.openai_decisions.types import (
    AnyAnswer,
    OpenAIChoice,
    OpenAIChoiceAnswer,
    OpenAIDecisionInvocation,
    OpenAIDecisionResponse,
    OpenAIInputTokens,
    OpenAILevelProbability,
    OpenAIPredicate,
    OpenAIPredicateAnswer,
    OpenAIScore,
    OpenAIScoreAnswer,
    OpenAIUsage,
    OpenAIValueProbability,
    Question,
)


class _Shared(TypedDict):
    """The fields that every answer has."""

    name: str | None
    x_readout: Readout
    x_allowed_token_mass: float | None
    x_calibration: AppliedCalibration | None


def to_response(
    request: OpenAIDecisionInvocation,
    results: Sequence[Result],
    timing: SharedTiming,
    confidence: Confidence,
) -> OpenAIDecisionResponse:
    """The reply to `request`; `results` are in the order of its questions."""
    answers = tuple(
        _answer(question, result, confidence)
        for question, result in zip(request.questions, results, strict=True)
    )
    tokens = sum(result.input_tokens for result in results)
    cached = sum(result.cached_tokens for result in results)
    usage = OpenAIUsage(
        input_tokens=tokens,
        input_tokens_details=OpenAIInputTokens(cached_tokens=cached),
        total_tokens=tokens,
    )
    return OpenAIDecisionResponse(model=results[0].model.name, answers=answers, usage=usage, x_timing=timing)


def _answer(question: Question, result: Result, confidence: Confidence) -> AnyAnswer:
    """The options' probabilities are in the order of the question's values or levels."""
    probabilities = result.probabilities
    shared: _Shared = {
        "name": question.name,
        "x_readout": result.readout,
        "x_allowed_token_mass": result.allowed_token_mass,
        "x_calibration": result.calibration,
    }
    match question:
        case OpenAIPredicate():
            return OpenAIPredicateAnswer(probability=probabilities[0], **shared)
        case OpenAIChoice(choices=choices):
            best = max(range(len(choices)), key=probabilities.__getitem__)
            return OpenAIChoiceAnswer(
                choice=choices[best].value,
                confidence=peak(probabilities),
                probabilities=tuple(
                    OpenAIValueProbability(value=choice.value, probability=probability)
                    for choice, probability in zip(choices, probabilities, strict=True)
                ),
                **shared,
            )
        case OpenAIScore(levels=levels):
            return OpenAIScoreAnswer(
                score=expected_level(probabilities),
                confidence=of_score(confidence)(probabilities),
                probabilities=tuple(
                    OpenAILevelProbability(label=level.label, value=value, probability=probability)
                    for value, (level, probability) in enumerate(zip(levels, probabilities, strict=True))
                ),
                **shared,
            )
