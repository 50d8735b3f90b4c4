"""The text readout: how likely the options' own words are, less what they get with no state at all."""

import hashlib
import json
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from semif_adapter.contract.probabilities import Numbers
from semif_adapter.contract.question import Question
from semif_adapter.contract.wire import Layout, Readout
from semif_adapter.decoding.continuations import count_decoded
from semif_adapter.decoding.decoder import AskedPrompt, DecodedPrompt, Decoder
from semif_adapter.decoding.steps import Steps
from semif_adapter.llama.model import Tokens
from semif_adapter.prompt.writer import PromptWriter
from semif_adapter.readouts.written import Heard, Once, Reading, WrittenQuestion, refuse_too_long

PRIORS_KEPT = 1024
"""Schemas whose empty-state answers are remembered; at most 2 kB each."""


@dataclass(frozen=True, eq=False)
class TextQuestion(WrittenQuestion):
    """A question whose options are not listed: `continuations` are their words as tokens."""

    readout: ClassVar[Readout] = "text"

    continuations: tuple[Tokens, ...]
    layout: Layout
    key: bytes
    """Names what the options' words follow when there is no state: the same for all states."""
    text: "TextReadout"

    @property
    def answers(self) -> tuple[str, ...]:
        """The options' words."""
        return tuple(option.spoken for option in self.question.options)

    @property
    def asked(self) -> tuple[AskedPrompt, ...]:
        """The prompt, and the options' words."""
        return tuple(AskedPrompt(prompt.segments, self.continuations) for prompt in self.prompts)

    def prior(self, decoder: Decoder) -> Steps[Numbers]:
        """What the options' words get with no state at all."""
        return self.text.prior(self, decoder)

    def hear(self, place: int, decoded: DecodedPrompt) -> Heard:  # noqa: ARG002 - there is one prompt
        """The options' log-probabilities."""
        return Heard(decoded.values, None, decoded.computed)

    def read(self, heard: Sequence[Heard], prior: Numbers | None) -> Reading:
        """What the state adds to the options' log-probabilities."""
        assert prior is not None
        [one] = heard
        return Reading(one.values - prior, None, one.computed)

    def once(self, *, can_cut: bool) -> Once | None:
        """The prior, where it is not known."""
        if self.text.knows(self.key):
            return None
        empty = self.text.writer.write_without_state(self.question, self.layout)
        return Once(self.key, empty.length + count_decoded(self.continuations, can_cut=can_cut))

    def behind(self, *, can_cut: bool) -> int:
        """Tokens of the options' words."""
        return count_decoded(self.continuations, can_cut=can_cut)


class TextReadout:
    """Writes questions for the text readout and remembers their priors."""

    def __init__(self, writer: PromptWriter, limit: int) -> None:
        """`limit` is how many tokens a prompt with its longest option may have."""
        self.writer = writer
        self._limit = limit
        self._priors: OrderedDict[bytes, Numbers] = OrderedDict()

    def write(self, index: int, question: Question, layout: Layout, known: dict[str, Tokens]) -> TextQuestion:
        """`question` in tokens. Raises InvalidRequestError and PromptTooLongError."""
        prompt = self.writer.write(question, layout, known=known)
        words = tuple(self.writer.continuation(option, question.path) for option in question.options)
        length = prompt.length + max(map(len, words))
        refuse_too_long(question, length, self._limit, " with its longest option")
        return TextQuestion(index, question, (prompt,), words, layout, _key(question, layout), self)

    def knows(self, key: bytes) -> bool:
        """Whether the prior of this name is known."""
        return key in self._priors

    def prior(self, written: TextQuestion, decoder: Decoder) -> Steps[Numbers]:
        """What the options' words get from the question alone, with no state; computed once per schema."""
        if written.key in self._priors:
            self._priors.move_to_end(written.key)
            return self._priors[written.key]
        prompt = self.writer.write_without_state(written.question, written.layout)
        decoded = yield from decoder.decode(AskedPrompt(prompt.segments, written.continuations))
        self._priors[written.key] = decoded.values
        if len(self._priors) > PRIORS_KEPT:
            self._priors.popitem(last=False)
        return decoded.values

    def forget(self) -> None:
        """Leave no prior."""
        self._priors.clear()


def _key(question: Question, layout: Layout) -> bytes:
    schema = [layout, question.text, *(option.spoken for option in question.options)]
    return hashlib.sha256(json.dumps(schema).encode()).digest()
