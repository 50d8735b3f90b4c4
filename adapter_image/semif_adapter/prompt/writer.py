"""From a decision to tokens: the prompt's text, its two layouts, and the fixed places where it is cut.

A prompt is three segments: the *system* (all that the template puts before the user's words), then the
*schema* (question and, for letters, the options) and the *state* in the layout's order, the last of them with
the *suffix* (the template hands over): what comes behind a shared prefix takes one forward pass.
Only the template's own segments are parsed for control tokens; the caller's words never are, so no text can
end its turn or speak as the assistant, and none has to be refused or changed.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, NamedTuple

import numpy as np

from semif_adapter.archive.prompt_version import prompt_version
from semif_adapter.contract.errors import InvalidRequestError
from semif_adapter.contract.question import OptionText, Question, content_text
from semif_adapter.contract.wire import MAX_OPTIONS, Layout, Readout
from semif_adapter.llama.model import Model, Tokens
from semif_adapter.prompt.chat_template import Template
from semif_adapter.prompt.text_length import TextLength

SYSTEM_TEXT: dict[Readout, str] = {
    "letters": "Answer with the letter of the best option.",
    "text": "Choose the best answer.",
}
"""Short on purpose: every token is paid for with every decision."""

TEXTS_KEPT = 512
LONGEST_KEPT = 4096
"""The tokens of so many schemas and options, each of up to so many characters, are kept: a few megabytes, 42
at most. Most requests ask what was asked before; it is the states that are new."""


class PromptPart(NamedTuple):
    """A piece of a prompt as the model sees it: what it is, its text, and how many tokens that makes."""

    name: Literal["system", "schema", "state", "suffix"]
    text: str
    tokens: int


@dataclass(frozen=True)
class Prompt:
    """A rendered and tokenised prompt; `segments` are decoded one by one, in order."""

    segments: tuple[Tokens, ...]
    parts: tuple[PromptPart, ...]
    """The same in order, with the suffix apart."""
    version: str

    @property
    def text(self) -> str:
        """The rendered text. A BOS that the model wants has none."""
        return "".join(part.text for part in self.parts)

    @property
    def schema_tokens(self) -> int:
        """Tokens of the question and the options listed with it."""
        return sum(part.tokens for part in self.parts if part.name == "schema")

    @property
    def length(self) -> int:
        """Tokens of all segments."""
        return sum(len(segment) for segment in self.segments)

    @property
    def sha256(self) -> str:
        """SHA-256 of the rendered text's UTF-8."""
        return hashlib.sha256(self.text.encode()).hexdigest()


class PromptWriter:
    """Writes the prompts of one model. Safe to use from any thread."""

    most_listed = MAX_OPTIONS
    """How many options a list may have."""

    def __init__(self, model: Model, template: Template, readout: Readout, length: TextLength) -> None:
        """Texts that are surely too long by `length`, the model's, are not tokenised."""
        self._model = model
        self._template = template
        self._readout = readout
        self.system = _with_one_bos(model, model.tokenize(template.head, parse_special=True))
        """What every prompt begins with."""
        self._suffix = model.tokenize_inside(template.tail, parse_special=True)
        self._words_inside = _is_inside(model, template.head, "a")
        """Whether the caller's first words stand in the middle of a text, and the answer's below."""
        self._answer_inside = _is_inside(model, template.tail, f"{template.answer_lead}a")
        self._markers = _template_markers(model, np.concatenate([self.system, self._suffix]))
        self._length = length
        self._kept = lru_cache(TEXTS_KEPT)(self._tokenize)

    @property
    def sample(self) -> Tokens:
        """Some tokens of this model's prompts, for tests of the engine."""
        return np.concatenate([self.system, self._suffix])

    def version(self, layout: Layout) -> str:
        """The `prompt_version` of this writer's prompts."""
        return prompt_version(self._template.name, self._readout, layout)

    def write(
        self,
        question: Question,
        layout: Layout,
        labels: Sequence[str] = (),
        turn: int = 0,
        known: dict[str, Tokens] | None = None,
    ) -> Prompt:
        """The prompt of `question`, with its options listed behind `labels` where there are any.

        The list begins with option `turn` and goes round. `known` is a request's memory of states and
        their tokens: its questions share one. Raises InvalidRequestError where a text is no Unicode, and
        PromptTooLongError where one alone has too many tokens.
        """
        listed = question.options[turn:] + question.options[:turn]
        lines = [f"\n{label}. {option.shown}" for label, option in zip(labels, listed, strict=bool(labels))]
        schema = question.text + "".join(lines)
        return self._write(question, schema, content_text(question.state), layout, known)

    def write_without_state(self, question: Question, layout: Layout) -> Prompt:
        """The same prompt with no options, and nothing in the state's place: the question alone."""
        return self._write(question, question.text, "", layout, None)

    def continuation(self, option: OptionText, path: str) -> Tokens:
        """The tokens that answer with `option`, right behind the prompt (text readout)."""
        return self._tokens_of(self._template.answer_lead + option.spoken, path, inside=self._answer_inside)

    def _write(
        self, question: Question, schema: str, state: str, layout: Layout, known: dict[str, Tokens] | None
    ) -> Prompt:
        known = {} if known is None else known
        schema_first = layout == "schema-first"
        schema, state = (f"{schema}\n\n", state) if schema_first else (schema, f"{state}\n\n")
        if state not in known:
            inside = schema_first or self._words_inside
            known[state] = self._tokens_of(state, question.path, inside=inside, keep=False)
        schema_inside = self._words_inside or not schema_first
        schema_tokens = self._tokens_of(schema, question.path, inside=schema_inside)
        words = [
            (PromptPart("schema", schema, len(schema_tokens)), schema_tokens),
            (PromptPart("state", state, len(known[state])), known[state]),
        ]
        (one, first), (other, second) = words if schema_first else words[::-1]
        return Prompt(
            segments=(self.system, first, np.concatenate([second, self._suffix])),
            parts=(
                PromptPart("system", self._template.head, len(self.system)),
                one,
                other,
                PromptPart("suffix", self._template.tail, len(self._suffix)),
            ),
            version=self.version(layout),
        )

    def _tokens_of(self, text: str, path: str, *, inside: bool, keep: bool = True) -> Tokens:
        """Tokens of the caller's words. Raises as `write`, with `path`."""
        try:
            self._length.refuse_endless(text, path)
            tokenize = self._kept if keep and len(text) <= LONGEST_KEPT else self._tokenize
            return tokenize(text, inside)
        except UnicodeEncodeError:
            raise InvalidRequestError(
                "a text holds a lone surrogate; send valid Unicode", path=path
            ) from None

    def _tokenize(self, text: str, inside: bool) -> Tokens:
        """Tokens of `text`, none of them with a meaning in the template; `inside`: behind other text."""
        first, *rest = _split_inside(text, self._markers)
        begin = self._model.tokenize_inside if inside else self._model.tokenize
        tokens = [begin(first, parse_special=False)]
        tokens += (self._model.tokenize_inside(part, parse_special=False) for part in rest)
        return np.concatenate(tokens)


def _is_inside(model: Model, before: str, words: str) -> bool:
    """Whether `words` behind the template's `before` are tokenised as a text's middle, not its beginning."""
    whole = model.tokenize(before + words, parse_special=True)
    apart = [model.tokenize(text, parse_special=True) for text in (before, words)]
    return bool(before) and not np.array_equal(np.concatenate(apart), whole)


def _with_one_bos(model: Model, tokens: Tokens) -> Tokens:
    """`tokens` beginning with one BOS where the model or its template wants one, with none otherwise."""
    leading = 0
    while leading < len(tokens) and tokens[leading] == model.bos:
        leading += 1
    bos = [model.bos] if leading or (model.wants_bos and model.bos >= 0) else []
    return np.concatenate([np.array(bos, np.int32), tokens[leading:]])


def _template_markers(model: Model, tokens: Tokens) -> tuple[str, ...]:
    """Texts of the template's marks that llama.cpp would make from anybody's words (some models' `<think>`).

    llama.cpp leaves control tokens alone where special tokens are not parsed, but not "user defined" ones.
    """
    texts = {model.token_text(token) for token in set(tokens.tolist()) if model.is_user_defined(token)}
    return tuple(sorted(text for text in texts if len(text.strip()) > 1))


def _split_inside(text: str, markers: Sequence[str]) -> list[str]:
    """`text` cut after the first character of every marker in it, so that no part holds a whole one."""
    parts = [text]
    for marker in markers:
        parts = [piece for part in parts for piece in _split_once(part, marker)]
    return parts


def _split_once(text: str, marker: str) -> list[str]:
    head, *rest = text.split(marker)
    if not rest:
        return [text]
    return [
        head + marker[0],
        *(marker[1:] + middle + marker[0] for middle in rest[:-1]),
        marker[1:] + rest[-1],
    ]
