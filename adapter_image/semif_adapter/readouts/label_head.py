"""Heads that are plain language models: the logits of labels behind a prompt that they were trained with.

What each was trained to see is as tools/server/server-decision.cpp of llama.cpp has it (read at 3cafcc83 on
2026-11-30).
"""

import itertools
import string
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from semif_adapter.archive.decision_head import DecisionHead
from semif_adapter.contract.errors import StartupError
from semif_adapter.contract.probabilities import Numbers
from semif_adapter.contract.question import Question
from semif_adapter.contract.wire import MAX_OPTIONS
from semif_adapter.llama.context import Rows
from semif_adapter.llama.model import Model, Tokens
from semif_adapter.prompt.labels import Label
from semif_adapter.prompt.writer import Prompt
from semif_adapter.readouts.head import Head, Orders
from semif_adapter.readouts.head_variables import Habits, first_order, kind_of
from semif_adapter.readouts.letters import read_labels

_LEAST_LABELS = 10
"""Levels of a score; fewer would answer less than the API promises."""
_RATINGS = 9
"""Lev's scale for a question of yes or no: the first label is certainly no, the ninth certainly yes."""


class LabelHead(Head):
    """Pplx-decider, and what the others have in common: labels A to Z, then pairs of capitals."""

    reads_head = False

    def __init__(self, model: Model, head: DecisionHead, limit: int) -> None:
        """Raises StartupError where the vocabulary has too few labels."""
        self._labels = _single_tokens(model, self._texts())[:MAX_OPTIONS]
        if len(self._labels) < _LEAST_LABELS:
            raise StartupError(
                f"the model has {len(self._labels)} labels of one token, a head of the type {head.kind!r} "
                f"needs {_LEAST_LABELS} or more; convert the model again"
            )
        self._tokens: Tokens = np.array([label.token for label in self._labels], np.int32)
        super().__init__(model, head, limit)

    @property
    def most_options(self) -> int:
        """As many as there are labels."""
        return len(self._labels)

    def labels(self, count: int) -> tuple[str, ...]:
        """The first labels."""
        return tuple(label.text for label in self._labels[:count])

    def marks(self, prompt: Prompt, question: Question) -> tuple[int, ...]:  # noqa: ARG002 - the same for all
        """Nowhere: the logits behind the prompt are read."""
        return ()

    def scores(self, rows: Rows, question: Question) -> tuple[Numbers, float | None]:
        """The labels' logits."""
        return read_labels(rows[-1], self._tokens[: self._outputs(question)])

    def _outputs(self, question: Question) -> int:
        return len(question.options)

    def _texts(self) -> Iterable[str]:
        pairs = itertools.product(string.ascii_uppercase, repeat=2)
        return [*string.ascii_uppercase, *map("".join, pairs)]


class OpenJevHead(LabelHead):
    """OpenJev: its template letters the options itself, A to Z and a to z; yes stands before no."""

    habits = Habits(true_first=True)

    def labels(self, count: int) -> tuple[str, ...]:  # noqa: ARG002 - the template has its own
        """None: the template counts."""
        return ()

    def _texts(self) -> Iterable[str]:
        return string.ascii_uppercase + string.ascii_lowercase


class LevHead(LabelHead):
    """Lev: choices in two orders, forwards and backwards; yes or no on a scale of nine labels."""

    habits = Habits(sorts_keys=True)

    def orders(self, question: Question) -> Orders:
        """Both orders of a choice; every rotation where that is asked for."""
        if kind_of(question) != "choice" or question.rotate:
            return super().orders(question)
        first = first_order(question, self.habits)
        return (first, first[::-1])

    def probabilities(self, shares: Numbers, question: Question) -> Numbers:
        """Of yes or no: the mean of the scale, no first."""
        if question.kind != "noul":
            return shares
        yes = float(shares @ np.linspace(0, 1, _RATINGS))
        return np.array([1 - yes, yes])

    def _outputs(self, question: Question) -> int:
        return _RATINGS if question.kind == "noul" else super()._outputs(question)


class NimbleHead(LabelHead):
    """Nimble: every prompt lists all questions of the request, and names the one to answer."""

    def template_variables(
        self, question: Question, order: tuple[int, ...], questions: Sequence[Question]
    ) -> dict[str, Any]:
        """With the questions, each with its options as they come first."""
        listed = []
        for one in questions:
            first = first_order(one, self.habits)
            listed.append(self.variables.of_schema(one, first, self.labels(len(first))))
        return super().template_variables(question, order, questions) | {"questions": listed}


def _single_tokens(model: Model, texts: Iterable[str]) -> tuple[Label, ...]:
    """Those of `texts` that are one token by themselves."""
    tokens = [(text, model.tokenize(text, parse_special=False)) for text in texts]
    return tuple(Label(text, int(found[0])) for text, found in tokens if len(found) == 1)
