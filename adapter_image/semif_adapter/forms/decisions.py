"""The forms `decision` and `decisions`, on their way to the engine and back."""

import math
from collections.abc import Sequence
from typing import Any, ClassVar, Self

from semif_adapter.contract.errors import AdapterError, OverloadedError, Refusal
from semif_adapter.contract.question import OptionText, Question
from semif_adapter.contract.settings import Settings
from semif_adapter.contract.wire import (
    Decision,
    DecisionRequest,
    DecisionResponse,
    DecisionsRequest,
    DecisionsResponse,
    Layout,
    Option,
    Result,
    SharedTiming,
    WireModel,
)
from semif_adapter.forms.form import Form
from semif_adapter.forms.invocations import FormKey, parse_decisions


class DecisionForm(Form):
    """One decision."""

    key: ClassVar[FormKey] = "decision"

    def __init__(self, request: DecisionRequest | DecisionsRequest) -> None:
        self.questions, self.layout = to_questions(request)

    @classmethod
    def parse(cls, document: Any, settings: Settings) -> Self:
        """What `document` asks. Raises InvalidRequestError with every problem in it."""
        return cls(parse_decisions(document, cls.key, max_decisions=settings.max_decisions))

    def to_response(self, results: Sequence[Result], timing: SharedTiming) -> WireModel:  # noqa: ARG002 - one shares with none
        """The one result."""
        return DecisionResponse(result=results[0])

    @classmethod
    def refusal(cls, error: AdapterError) -> Refusal:
        """The error as it is; a header repeats when to come back, for clients without SageMaker."""
        headers = {}
        if isinstance(error, OverloadedError):
            headers["retry-after"] = str(math.ceil(error.retry_after_seconds))
        return Refusal(error.status, error.body(), headers)


class DecisionsForm(DecisionForm):
    """Several decisions about one state."""

    key: ClassVar[FormKey] = "decisions"

    def to_response(self, results: Sequence[Result], timing: SharedTiming) -> WireModel:
        """The results in request order, and what they share."""
        return DecisionsResponse(results=tuple(results), timing=timing)


def to_questions(request: DecisionRequest | DecisionsRequest) -> tuple[Sequence[Question], Layout]:
    """What to score, and how: the form and its parameters decide the layout, never the number of questions.

    One decision is laid out schema-first, unless its options rotate: the rotations then share the state.
    """
    rotate = request.parameters.order_debiasing == "rotate"
    if isinstance(request, DecisionRequest):
        layout: Layout = "state-first" if rotate else "schema-first"
        return (to_question(request.decision, "decision", rotate=rotate),), layout
    questions = [
        to_question(decision, f"decisions[{index}]", rotate=rotate)
        for index, decision in enumerate(request.decisions)
    ]
    return questions, "state-first"


def to_question(decision: Decision, path: str, *, rotate: bool = False) -> Question:
    """`decision`, which stands at `path`."""
    return Question(
        id=decision.id,
        state=decision.state,
        text=decision.question,
        options=tuple(map(_option_text, decision.options)),
        path=path,
        rotate=rotate,
    )


def _option_text(option: Option) -> OptionText:
    """An option is its description, in a list and as an answer; without one it is its id.

    Small models tell options apart by what they mean better than by their names: on 72 benchmark tasks
    SmolLM2-135M was right 38 times with descriptions and 26 to 30 times, by layout, with ids.
    """
    return OptionText(
        id=option.id,
        shown=option.description or option.id,
        spoken=option.description or option.id.replace("_", " "),
        description=option.description,
    )
