"""The three question types as one: text and options, scored as any decision is."""

import json
from collections.abc import Sequence

from semif_adapter.contract.question import Content, OptionText, content_text
from semif_adapter.contract.question import Question as Asked
from semif_adapter.forms.openai_decisions.state import said, state_of
from semif_adapter.forms.openai_decisions.types import (
    OpenAIChoice,
    OpenAIDecisionInvocation,
    OpenAIOption,
    OpenAIPredicate,
    OpenAIScore,
    Question,
)

TRUE, FALSE = OptionText("true", "Yes", "yes"), OptionText("false", "No", "no")


def to_questions(request: OpenAIDecisionInvocation) -> Sequence[Asked]:
    """What to score, in the request's order. A question's name is shown to no model but Nimble (heads)."""
    state = state_of(request)
    return [_asked(index, question, state) for index, question in enumerate(request.questions)]


def _asked(index: int, question: Question, state: Content) -> Asked:
    instructions = said(question.instructions)
    return Asked(
        id=str(index),
        state=state,
        text=content_text(instructions),
        options=_options(question),
        path=f"questions[{index}]",
        kind="noul" if isinstance(question, OpenAIPredicate) else question.type,
        instructions=instructions,
    )


def _options(question: Question) -> tuple[OptionText, ...]:
    """What a list shows and which words answer, as for System One: a description says more than a name."""
    match question:
        case OpenAIPredicate():
            return TRUE, FALSE
        case OpenAIChoice(choices=choices):
            names = _names(choices)
            return tuple(
                OptionText(name, f"{name}: {choice.description}", choice.description, choice.description)
                if choice.description
                else OptionText(name, name, name.replace("_", " "))
                for name, choice in zip(names, choices, strict=True)
            )
        case OpenAIScore(levels=levels):
            texts = (
                f"{level.label}: {level.description}" if level.description else level.label
                for level in levels
            )
            return tuple(OptionText(str(value), text, text, text) for value, text in enumerate(texts))


def _names(choices: Sequence[OpenAIOption]) -> list[str]:
    """What the values are called, each differently: strings are quoted where a boolean is called the same."""
    values = [choice.value for choice in choices]
    strings = {value for value in values if isinstance(value, str)}
    quoted = any(isinstance(value, bool) and json.dumps(value) in strings for value in values)
    return [
        value if isinstance(value, str) and not quoted else json.dumps(value, ensure_ascii=False)
        for value in values
    ]
