"""The three question types as one: text and options, scored as any decision is."""

from collections.abc import Sequence

from semif_adapter.contract.question import Content, OptionText, Question, content_text
from semif_adapter.contract.wire import QuestionKind
from semif_adapter.forms.systemone.types import (
    ChoiceQuestion,
    NoulCriteria,
    NoulQuestion,
    ScoreQuestion,
    SystemOneInvocation,
)

NOUL_TEXT = "Is this so?"
CHOICE_TEXT = "Which of these fits best?"
SCORE_TEXT = "Which of these levels fits best?"
"""What is asked where a question has no instructions."""

_DEFAULTS: dict[QuestionKind, str] = {"noul": NOUL_TEXT, "choice": CHOICE_TEXT, "score": SCORE_TEXT}

TRUE, FALSE = "true", "false"


def to_questions(request: SystemOneInvocation) -> Sequence[Question]:
    """What to score, in the request's order. A question's own id is shown to no model but Nimble (heads)."""
    return [
        Question(
            id=name,
            state=request.state,
            text=_text(question),
            options=_options(question),
            path=f"questions.#{index}",
            kind=question.type,
            instructions=_DEFAULTS[question.type] if question.instructions is None else question.instructions,
        )
        for index, (name, question) in enumerate(request.questions.items())
    ]


def _text(question: NoulQuestion | ChoiceQuestion | ScoreQuestion) -> str:
    instructions = _words(question.instructions)
    match question:
        case NoulQuestion():
            yes, no = _sides(question)
            # Two described sides are what the options say; a single one is part of the question.
            single = f"\nYes: {yes}" if yes and not no else f"\nNo: {no}" if no and not yes else ""
            return (instructions or NOUL_TEXT) + single
        case ChoiceQuestion():
            return instructions or CHOICE_TEXT
        case ScoreQuestion():
            return instructions or SCORE_TEXT


def _options(question: NoulQuestion | ChoiceQuestion | ScoreQuestion) -> tuple[OptionText, ...]:
    """What a list shows and which words answer; a description says more to a small model than a name.

    Of JevBench's 72 public choices SmolLM2-135M gets 45 right with descriptions and 37 with names; of its 12
    scores 7 with the levels' texts and 5 with their numbers.
    """
    match question:
        case NoulQuestion():
            yes, no = _sides(question)
            described = bool(yes and no)
            criteria = question.criteria or NoulCriteria()
            return (
                OptionText(TRUE, f"Yes. {yes}" if yes else "Yes", yes if described else "yes", criteria.true),
                OptionText(FALSE, f"No. {no}" if no else "No", no if described else "no", criteria.false),
            )
        case ChoiceQuestion():
            return tuple(_choice(name, description) for name, description in question.criteria.items())
        case ScoreQuestion():
            return tuple(_level(str(level), content) for level, content in enumerate(question.criteria))


def _choice(name: str, description: Content | None) -> OptionText:
    words = _words(description)
    if not words:
        return OptionText(name, name, name.replace("_", " "), description)
    return OptionText(name, f"{name}: {words}", words, description)


def _level(level: str, content: Content) -> OptionText:
    words = _words(content) or level
    return OptionText(level, words, words, content)


def _sides(question: NoulQuestion) -> tuple[str, str]:
    criteria = question.criteria or NoulCriteria()
    return _words(criteria.true), _words(criteria.false)


def _words(text: Content | None) -> str:
    return "" if text is None else content_text(text)
