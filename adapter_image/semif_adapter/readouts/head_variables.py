"""What each kind of decision head is told of a question: the variables of its `systemone` template.

As tools/server/server-decision.cpp of llama.cpp gives them (read at 3cafcc83 on 2026-11-30).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import JsonValue

from semif_adapter.contract.question import Question
from semif_adapter.contract.wire import QuestionKind
from semif_adapter.forms.systemone.questions import TRUE
from semif_adapter.prompt.flattened import flattened
from semif_adapter.prompt.harmless import Harmless


@dataclass(frozen=True)
class Habits:
    """How a kind of head was trained to see questions."""

    true_first: bool = False
    """Whether yes stands before no."""
    flattens: bool = False
    """Whether JSON is shown as lines of text."""
    sorts_keys: bool = False
    """Whether the keys of JSON objects are sorted."""


@dataclass(frozen=True)
class HeadVariables:
    """Writes the variables of one model's template."""

    habits: Habits
    harmless: Harmless

    def of(self, question: Question, order: Sequence[int], labels: Sequence[str] = ()) -> dict[str, Any]:
        """Those of `question` with its options in `order`, behind `labels` where the head has such."""
        return {
            **self.of_schema(question, order, labels),
            "state": self._content(question.state),
            "images": [],
        }

    def of_schema(
        self, question: Question, order: Sequence[int], labels: Sequence[str] = ()
    ) -> dict[str, Any]:
        """What `of` says, but of the state."""
        return {
            "id": self.harmless.text(question.id),
            "type": kind_of(question),
            "instructions": self._content(question.asked),
            "options": self._options(question, order, labels),
        }

    def _options(
        self, question: Question, order: Sequence[int], labels: Sequence[str]
    ) -> list[dict[str, Any]]:
        options = []
        for place, index in enumerate(order):
            option = question.options[index]
            description = option.description
            shown = {
                "key": self.harmless.text(option.id),
                "description": None if description is None else self._content(description),
            }
            options.append(shown | ({"label": labels[place]} if labels else {}))
        return options

    def _content(self, content: JsonValue) -> JsonValue:
        if self.habits.flattens:
            return self.harmless.text(flattened(content))
        return self.harmless.content(_sorted(content) if self.habits.sorts_keys else content)


def kind_of(question: Question) -> QuestionKind:
    """What the head takes `question` for: a decision, which has no kind, is a choice."""
    return question.kind or "choice"


def first_order(question: Question, habits: Habits) -> tuple[int, ...]:
    """The options' indices in the order that the head was trained with."""
    if question.kind != "noul":
        return tuple(range(len(question.options)))
    yes = [index for index, option in enumerate(question.options) if option.id == TRUE]
    no = [index for index, option in enumerate(question.options) if option.id != TRUE]
    return tuple(yes + no if habits.true_first else no + yes)


def _sorted(content: JsonValue) -> JsonValue:
    match content:
        case dict():
            return {key: _sorted(content[key]) for key in sorted(content)}
        case list():
            return [_sorted(item) for item in content]
        case _:
            return content
