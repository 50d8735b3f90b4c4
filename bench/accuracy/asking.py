"""Labelled questions asked of an engine, with their options turned in each way that is wanted."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from semif.evaluation.tasks.task_lines import read_tasks
from semif_adapter.contract.errors import EngineError
from semif_adapter.contract.question import Question
from semif_adapter.contract.wire import MAX_ROTATED_OPTIONS, Layout, Readout, Result
from semif_adapter.engine.engine import Engine
from semif_adapter.forms.systemone.parse import parse_system_one
from semif_adapter.forms.systemone.questions import to_questions
from semif_adapter.forms.systemone.types import SystemOneInvocation


@dataclass(frozen=True)
class LabelledQuestion:
    """A question and its right option; `file` is the name of the file that holds it."""

    file: str
    question: Question
    expected: str


@dataclass(frozen=True)
class TurnAnswer:
    """What a question got in one order of its options: that which begins with option `turn`."""

    task: int
    """Its position among the questions asked."""
    turn: int
    choice: str | None
    """The most probable option; None where the answer was not a valid one."""
    logits: tuple[float, ...]
    """In the order received."""
    tokens: int
    computed: int


def questions_of(path: Path) -> list[LabelledQuestion]:
    """A file's tasks as the adapter asks them in System One's form. Raises SemifError."""
    questions = []
    for task in read_tasks(path):
        body = {"state": task.state, "questions": {"q": task.system_one()}}
        (question,) = to_questions(parse_system_one(body, SystemOneInvocation, max_questions=1))
        questions.append(LabelledQuestion(path.stem, question, task.expected))
    return questions


def turns_to_ask(
    questions: Sequence[LabelledQuestion], readout: Readout, layout: Layout
) -> list[tuple[int, int]]:
    """Positions of a question and of the option that its list begins with.

    Those that share a prefix stand together.
    """
    pairs = []
    for index, labelled in enumerate(questions):
        count = len(labelled.question.options)
        orders = count if readout == "letters" and count <= MAX_ROTATED_OPTIONS else 2
        pairs += [(index, turn) for turn in range(orders)]
    if layout == "state-first":
        return pairs

    def schema(pair: tuple[int, int]) -> str:
        index, turn = pair
        question = questions[index].question
        return repr((question.text, question.options, turn))

    return sorted(pairs, key=schema)


def ask(
    engine: Engine, questions: Sequence[LabelledQuestion], index: int, turn: int, layout: Layout
) -> TurnAnswer:
    """The answer to a question with its options turned."""
    question = questions[index].question
    options = question.options[turn:] + question.options[:turn]
    try:
        [result], _ = engine.score([replace(question, options=options)], layout)
    except EngineError:
        return TurnAnswer(index, turn, None, (), 0, 0)
    choice = result.option_ids[int(np.argmax(result.probabilities))] if _is_valid(result, question) else None
    return TurnAnswer(
        index,
        turn,
        choice,
        tuple(np.roll(result.option_logits, turn).tolist()),
        result.input_tokens,
        result.input_tokens - result.cached_tokens,
    )


def averaged(questions: Sequence[LabelledQuestion], orders: Sequence[TurnAnswer]) -> TurnAnswer:
    """The answer over all `orders` of one question, as `order_debiasing` gives it."""
    first = orders[0]
    options = questions[first.task].question.options
    logits, choice = np.zeros(0), None
    if all(answer.choice is not None for answer in orders):
        logits = np.mean([answer.logits for answer in orders], axis=0)
        choice = options[int(np.argmax(logits))].id
    return TurnAnswer(
        first.task,
        0,
        choice,
        tuple(logits.tolist()),
        sum(answer.tokens for answer in orders),
        sum(answer.computed for answer in orders),
    )


def _is_valid(result: Result, question: Question) -> bool:
    """Whether there is a probability for each option, and they add up to 1."""
    return len(result.probabilities) == len(question.options) and math.isclose(
        sum(result.probabilities), 1, abs_tol=1e-6
    )
