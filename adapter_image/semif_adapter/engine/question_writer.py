"""Which readout asks a question, in which orders of its options, and in which tokens."""

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from semif_adapter.contract.errors import PromptTooLongError
from semif_adapter.contract.question import Question
from semif_adapter.contract.wire import Layout, Readout
from semif_adapter.decoding.continuations import count_decoded
from semif_adapter.llama.model import Tokens
from semif_adapter.prompt.labels import Label
from semif_adapter.prompt.writer import Prompt, PromptWriter

ALWAYS_LISTED = 26
"""Up to so many options the list may take what it needs: only a prompt that does not fit is refused."""
_SHARED_SEGMENTS = 2  # system and state, or system and schema


@dataclass(frozen=True)
class WrittenQuestion:
    """One question in tokens, ready to be asked.

    There is a prompt for each order of the options that is asked; the list in prompt r begins with option r.
    `continuations` are the options' words, for the text readout, and `prior_key` names what they follow when
    there is no state: the same for all states.
    """

    index: int
    """Which of the request's questions it is."""
    question: Question
    readout: Readout
    prompts: tuple[Prompt, ...]
    labels: tuple[Label, ...]
    continuations: tuple[Tokens, ...] = ()
    prior_key: bytes | None = None


class QuestionWriter:
    """Writes the questions of one model; safe from any thread.

    A question with more options than the model has labels for, or whose list would take more than half of the
    context, is asked with the text readout instead, which has no limit.
    """

    def __init__(self, writers: dict[Readout, PromptWriter], labels: tuple[Label, ...], limit: int) -> None:
        self._writers = writers
        self._labels = labels
        self._limit = limit

    def write(
        self, questions: Sequence[Question], layout: Layout, go_on: Callable[[], None] = lambda: None
    ) -> list[list[WrittenQuestion]]:
        """The questions of one request, grouped by readout; those of a group share their first segments.

        `go_on` is called before each, and ends this by what it raises.
        Raises InvalidRequestError (a text that is no Unicode) and PromptTooLongError (with counts).
        """
        groups: dict[Readout, list[WrittenQuestion]] = {}
        known: dict[Readout, dict[str, Tokens]] = {"letters": {}, "text": {}}
        for index, question in enumerate(questions):
            go_on()
            written = self._write(index, question, layout, known)
            groups.setdefault(written.readout, []).append(written)
        return list(groups.values())

    def without_state(self, written: WrittenQuestion, layout: Layout) -> Prompt:
        """The first prompt of `written` with nothing in the state's place: its question alone."""
        return self._writers[written.readout].write_without_state(written.question, layout)

    def _write(
        self,
        index: int,
        question: Question,
        layout: Layout,
        known: dict[Readout, dict[str, Tokens]],
    ) -> WrittenQuestion:
        written = self._listed(index, question, layout, known["letters"])
        if written is None:
            writer = self._writers["text"]
            prompt = writer.write(question, layout, known=known["text"])
            continuations = tuple(writer.continuation(option, question.path) for option in question.options)
            key = _prior_key(question, layout)
            written = WrittenQuestion(index, question, "text", (prompt,), (), continuations, key)
        self._check_length(written)
        return written

    def _listed(
        self, index: int, question: Question, layout: Layout, known: dict[str, Tokens]
    ) -> WrittenQuestion | None:
        """`question` with the options in its prompt, behind labels; None where they are too many for that."""
        count = len(question.options)
        if count > len(self._labels):
            return None
        writer, labels = self._writers["letters"], self._labels[:count]
        texts = [label.text for label in labels]
        try:
            prompts = [writer.write(question, layout, texts, known=known)]
        except PromptTooLongError:
            if count <= ALWAYS_LISTED:
                raise
            return None
        if count > ALWAYS_LISTED and prompts[0].schema_tokens > self._limit // 2:
            return None
        if question.rotate and prompts[0].length <= self._limit:
            prompts += [writer.write(question, layout, texts, turn, known) for turn in range(1, count)]
        return WrittenQuestion(index, question, "letters", tuple(prompts), labels)

    def _check_length(self, written: WrittenQuestion) -> None:
        length = max(prompt.length for prompt in written.prompts)
        length += max(map(len, written.continuations), default=0)
        with_option = " with its longest option" if written.continuations else ""
        if length > self._limit:
            raise PromptTooLongError(
                f"the prompt{with_option} has {length} tokens, "
                f"allowed are {self._limit}; shorten the state, the question or the options",
                path=written.question.path,
            )


def _prior_key(question: Question, layout: Layout) -> bytes:
    schema = [layout, question.text, *(option.spoken for option in question.options)]
    return hashlib.sha256(json.dumps(schema).encode()).digest()


def shared_prefix(group: Sequence[WrittenQuestion]) -> tuple[Tokens, ...]:
    """The first two segments of `group`, which has one readout; nothing where its prompts differ there."""
    prompts = [prompt for written in group for prompt in written.prompts]
    first = prompts[0].segments[:_SHARED_SEGMENTS]
    same = all(np.array_equal(first[1], prompt.segments[1]) for prompt in prompts)
    return first if same else ()


def count_tokens(groups: Sequence[Sequence[WrittenQuestion]], *, can_cut: bool) -> int:
    """How many tokens the questions take to compute, a prefix that they share once, priors left out.

    `can_cut` says whether the model can forget the last tokens only.
    """
    total = 0
    for group in groups:
        shared = sum(map(len, shared_prefix(group)))
        total += shared
        for written in group:
            total += sum(prompt.length - shared for prompt in written.prompts)
            total += count_decoded(written.continuations, can_cut=can_cut)
    return total
