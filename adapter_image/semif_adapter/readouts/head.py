"""Decision heads: models that were trained to decide, asked with the prompt and the temperatures they bring.

Which kind a model is, its GGUF says (`decision.type`); where such a kind is read stands in `pointer_head.py`
and its neighbours.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from semif_adapter.archive.decision_head import TEMPLATE, DecisionHead
from semif_adapter.contract.errors import InvalidRequestError
from semif_adapter.contract.probabilities import Numbers, softmax
from semif_adapter.contract.question import OptionText, Question
from semif_adapter.contract.wire import MAX_OPTIONS, Layout, Readout
from semif_adapter.decoding.decoder import AskedPrompt, DecodedPrompt
from semif_adapter.llama.context import Rows
from semif_adapter.llama.model import Model, Tokens
from semif_adapter.prompt.harmless import Harmless
from semif_adapter.prompt.head_prompts import HeadPrompts
from semif_adapter.prompt.writer import Prompt
from semif_adapter.readouts.head_variables import Habits, HeadVariables, first_order, kind_of
from semif_adapter.readouts.written import Heard, Reading, WrittenQuestion, refuse_too_long

_LEAST = float(np.finfo(np.float64).smallest_subnormal)
"""What stands for no probability where its logarithm is told."""

Orders = tuple[tuple[int, ...], ...]
"""Orders of a question's options, each by their indices."""


class Head(ABC):
    """The `QuestionWriter` of one model with a head; each kind says what differs."""

    habits: ClassVar[Habits] = Habits()
    reads_head: ClassVar[bool] = True
    reads_whole: ClassVar[bool] = False

    def __init__(self, model: Model, head: DecisionHead, limit: int) -> None:
        """`limit` is how many tokens a prompt may have. Raises StartupError where it cannot be asked."""
        self._head = head
        self._limit = limit
        source = model.named_template(TEMPLATE)
        assert source is not None  # archive/decision_head.py refuses a model without
        harmless = Harmless(model, source, all_named=self.habits.flattens)
        self.variables = HeadVariables(self.habits, harmless)
        self.prompts = HeadPrompts(model, head.kind, source, self._probe, limit)
        self.system = self.prompts.system

    @property
    def sample(self) -> Tokens:
        """Some tokens of this model's prompts."""
        return self.prompts.sample

    def version(self, layout: Layout) -> str:
        """The `prompt_version` of its results: the model's own template is the same in both layouts."""
        return self.prompts.version(layout)

    def write(
        self,
        questions: Sequence[Question],
        layout: Layout,  # noqa: ARG002 - as above
        go_on: Callable[[], None],
    ) -> list[list[WrittenQuestion]]:
        """The questions of one request."""
        known: dict[str, Tokens] = {}
        group: list[WrittenQuestion] = []
        for question in questions:  # all of them first: a prompt may show the others too
            go_on()
            self.prompts.refuse_endless(question)
            self._refuse_too_many(question)
        for index in range(len(questions)):
            go_on()
            group.append(self._write(index, questions, known))
        return [group]

    def forget(self) -> None:  # noqa: B027 - there is nothing to do
        """It remembers nothing."""

    @property
    def most_options(self) -> int:
        """How many options it can tell apart."""
        return MAX_OPTIONS

    def labels(self, count: int) -> tuple[str, ...]:  # noqa: ARG002 - most have none
        """What `count` options are called in the prompt."""
        return ()

    def orders(self, question: Question) -> Orders:
        """The orders of the options that are asked and averaged."""
        first = first_order(question, self.habits)
        if not question.rotate:
            return (first,)
        return tuple(first[turn:] + first[:turn] for turn in range(len(first)))

    def template_variables(
        self,
        question: Question,
        order: tuple[int, ...],
        questions: Sequence[Question],  # noqa: ARG002 - most show one question
    ) -> dict[str, Any]:
        """What the template is given for `question`, one of the `questions` of a request."""
        return self.variables.of(question, order, self.labels(len(order)))

    def fitted(self, prompt: Prompt, question: Question) -> Prompt:  # noqa: ARG002 - most take it whole
        """`prompt` as the model was trained to see it."""
        return prompt

    @abstractmethod
    def marks(self, prompt: Prompt, question: Question) -> tuple[int, ...]:
        """Where in the last segment of `prompt` the head is read; nowhere for the logits behind it."""

    @abstractmethod
    def scores(self, rows: Rows, question: Question) -> tuple[Numbers, float | None]:
        """What the softmax takes, in the prompt's order; and the mass, where there is one."""

    def probabilities(self, shares: Numbers, question: Question) -> Numbers:  # noqa: ARG002 - most are it
        """The options' probabilities in the prompt's order, from the softmax of `scores`."""
        return shares

    def _refuse_too_many(self, question: Question) -> None:
        count = len(question.options)
        if count > self.most_options:
            raise InvalidRequestError(
                f"has {count} options, this model can tell {self.most_options} apart; split the question",
                path=question.path,
            )

    def _write(self, index: int, questions: Sequence[Question], known: dict[str, Tokens]) -> WrittenQuestion:
        question = questions[index]
        orders = self.orders(question)
        prompts = tuple(self._prompt(question, order, questions, known) for order in orders)
        refuse_too_long(question, max(prompt.length for prompt in prompts), self._limit)
        temperature = self._head.temperature(kind_of(question), len(question.options))
        return HeadQuestion(index, question, prompts, orders, temperature, self)

    def _prompt(
        self,
        question: Question,
        order: tuple[int, ...],
        questions: Sequence[Question],
        known: dict[str, Tokens],
    ) -> Prompt:
        variables = self.template_variables(question, order, questions)
        return self.fitted(self.prompts.write(variables, question.path, known), question)

    def _probe(self, word: str, state: Any) -> dict[str, Any]:
        options = tuple(OptionText(name, name, name) for name in (word, f"{word}c"))
        question = Question(word, "", word, options, word)
        return self.template_variables(question, (0, 1), (question,)) | {"state": state}


@dataclass(frozen=True, eq=False)
class HeadQuestion(WrittenQuestion):
    """A question to a decision head, with a prompt for each of `orders` of its options."""

    readout: ClassVar[Readout] = "head"

    orders: Orders
    temperature: float
    head: Head

    @property
    def answers(self) -> tuple[str, ...]:
        """The options' names."""
        return tuple(option.id for option in self.question.options)

    @property
    def asked(self) -> tuple[AskedPrompt, ...]:
        """The prompts, and where the head is read."""
        return tuple(
            AskedPrompt(prompt.segments, marks=self.head.marks(prompt, self.question))
            for prompt in self.prompts
        )

    def hear(self, place: int, decoded: DecodedPrompt) -> Heard:
        """The probabilities, from the scores over the temperature."""
        scores, mass = self.head.scores(decoded.rows, self.question)
        shares = np.empty(len(self.question.options))
        told = self.head.probabilities(softmax(scores, self.temperature), self.question)
        shares[list(self.orders[place])] = told
        return Heard(shares, mass, decoded.computed)

    def read(self, heard: Sequence[Heard], prior: Numbers | None) -> Reading:  # noqa: ARG002 - none
        """The logarithm of the probabilities, of several orders that of their mean."""
        shares = np.stack([one.values for one in heard])
        masses = [one.mass for one in heard if one.mass is not None]
        logits = np.log(np.maximum(shares.mean(axis=0), _LEAST))
        mass = sum(masses) / len(masses) if masses else None
        return Reading(logits, mass, sum(one.computed for one in heard))
