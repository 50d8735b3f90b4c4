"""The decision form on its way to the engine."""

from collections.abc import Sequence

from semif_adapter.contract.question import OptionText, Question
from semif_adapter.contract.wire import Decision, DecisionRequest, DecisionsRequest, Layout, Option


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
    )
