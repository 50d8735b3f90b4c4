"""Prompts that a model with a decision head brings itself: its template `systemone`, and where it is cut.

The template sees the caller's words, since it loops over options, and is a stranger's program all the same:
what it does with small questions is tried at start in a process of its own, and it runs in a sandbox.
The cuts follow from the prompt alone, so that an answer does not depend on its neighbours: behind what the
template says before the state, and behind what it says before the question.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jinja2 import TemplateError

from semif_adapter.archive.decision_head import TEMPLATE
from semif_adapter.archive.prompt_version import prompt_version
from semif_adapter.contract.errors import InvalidRequestError, StartupError
from semif_adapter.contract.question import Content, Question, content_text
from semif_adapter.contract.wire import Layout
from semif_adapter.llama.model import Model, Tokens
from semif_adapter.prompt.rendering import environment, render_variables
from semif_adapter.prompt.text_length import TextLength
from semif_adapter.prompt.writer import Prompt, PromptPart

Variables = dict[str, Any]
"""What a template sees: id, type, instructions, state, options, images, and for some the questions."""
Probe = Callable[[str, Any], Variables]
"""What the template is given for a question that says nothing but this text, about this state."""


@dataclass(frozen=True)
class _Beginning:
    """What prompts about one state begin with."""

    text: str
    tokens: Tokens


class HeadPrompts:
    """Writes the prompts of one model with a head. Safe to use from any thread."""

    def __init__(self, model: Model, kind: str, source: str, probe: Probe, most_tokens: int) -> None:
        """`kind` is the model's `decision.type`, `source` its template.

        Raises StartupError where it cannot be rendered.
        """
        self._model = model
        self._kind = kind
        self._probe = probe
        states: tuple[Any, ...] = ("a", "1", {"a": 1})
        for tried in render_variables(source, [probe("b", state) for state in states]):
            if tried.text is None:
                raise StartupError(f"the model's template {TEMPLATE!r} cannot be used: {tried.reason}")
        self._template = environment().from_string(source)
        self._length = TextLength(model, most_tokens)
        head = _common([self._render(probe("b", state), "") for state in states])
        self._head = _Beginning(head, self._tokens(head, ""))
        self.system = self._head.tokens
        """What every prompt begins with, but those whose state runs into it."""

    @property
    def sample(self) -> Tokens:
        """Some tokens of this model's prompts, for tests of the engine."""
        return self._tokens(self._render(self._probe("b", "a"), ""), "")

    def version(self, layout: Layout) -> str:  # noqa: ARG002 - the model's own template has one alone
        """The `prompt_version` of its prompts."""
        return prompt_version(self._kind, "head", "state-first")

    def refuse_endless(self, question: Question) -> None:
        """Raise PromptTooLongError for words that no prompt has room for, before they are worked on."""
        words: list[Content | None] = [question.id, question.state, question.asked]
        for option in question.options:
            words += option.id, option.description
        for content in words:
            if content is not None:
                self._length.refuse_endless(content_text(content), question.path)

    def write(self, variables: Variables, path: str, known: dict[str, Tokens]) -> Prompt:
        """The prompt that the template makes of `variables`; `known` is a request's memory of beginnings.

        Raises InvalidRequestError where a text is no Unicode, and PromptTooLongError.
        """
        text = self._render(variables, path)
        begins = _common([self._render(self._probe(word, variables["state"]), path) for word in ("b", "2")])
        if not text.startswith(begins):
            begins = ""
        if begins not in known:
            known[begins] = self._tokens(begins, path)
        beginning = known[begins]
        if begins and self._model.is_control(int(beginning[-1])):
            # The tokenizer cuts there, too: what comes behind changes nothing before.
            tokens = np.concatenate([beginning, self._tokens(text[len(begins) :], path)])
        else:
            tokens = self._tokens(text, path)
        system = self._head if _starts_with(tokens, self._head.tokens) else _Beginning("", tokens[:0])
        state_end = _common_length(beginning, tokens[:-1])
        state_end = state_end if state_end > len(system.tokens) else len(system.tokens)
        return self._cut(text, tokens, system, begins, state_end)

    def _cut(self, text: str, tokens: Tokens, system: _Beginning, begins: str, state_end: int) -> Prompt:
        state = begins[len(system.text) :] if state_end > len(system.tokens) else ""
        rest = text[len(system.text) + len(state) :]
        segments = (system.tokens, tokens[len(system.tokens) : state_end], tokens[state_end:])
        return Prompt(
            segments=segments,
            parts=(
                PromptPart("system", system.text, len(segments[0])),
                PromptPart("state", state, len(segments[1])),
                PromptPart("schema", rest, len(segments[2])),
            ),
            version=self.version("state-first"),
        )

    def _render(self, variables: Variables, path: str) -> str:
        try:
            return self._template.render(variables)
        except (TemplateError, TypeError, ValueError) as error:
            raise InvalidRequestError(
                f"the model's template {TEMPLATE!r} cannot write this question ({type(error).__name__}); "
                "ask another kind of question",
                path=path,
            ) from None

    def _tokens(self, text: str, path: str) -> Tokens:
        try:
            self._length.refuse_endless(text, path)
            return self._model.tokenize(text, parse_special=True)
        except UnicodeEncodeError:
            raise InvalidRequestError(
                "a text holds a lone surrogate; send valid Unicode", path=path
            ) from None


def _common(texts: Sequence[str]) -> str:
    """What all of `texts` begin with."""
    first, last = min(texts), max(texts)
    low, high = 0, min(len(first), len(last))
    while low < high:
        middle = (low + high + 1) // 2
        if first[:middle] == last[:middle]:
            low = middle
        else:
            high = middle - 1
    return first[:low]


def _common_length(first: Tokens, second: Tokens) -> int:
    count = min(len(first), len(second))
    different = np.flatnonzero(first[:count] != second[:count])
    return int(different[0]) if len(different) else count


def _starts_with(tokens: Tokens, beginning: Tokens) -> bool:
    return _common_length(beginning, tokens) == len(beginning) < len(tokens)
