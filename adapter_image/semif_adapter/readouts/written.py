"""A question in tokens, which knows how its answer is read: what all readouts have in common."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Protocol

import numpy as np

from semif_adapter.contract.errors import PromptTooLongError
from semif_adapter.contract.probabilities import Numbers
from semif_adapter.contract.question import Question
from semif_adapter.contract.wire import Layout, Readout
from semif_adapter.decoding.decoder import AskedPrompt, DecodedPrompt, Decoder
from semif_adapter.decoding.steps import Steps
from semif_adapter.llama.model import Tokens
from semif_adapter.prompt.writer import Prompt

_SHARED_SEGMENTS = 2  # system and state, or system and schema


class Heard(NamedTuple):
    """What an answer needs of what the model says behind one prompt: no row as long as the vocabulary."""

    values: Numbers
    """A number for each option, in the question's order."""
    mass: float | None
    computed: int
    likeliest_token: int | None = None


class Reading(NamedTuple):
    """What the model says to a question."""

    logits: Numbers
    """What the softmax takes, shape (options,), in the question's order."""
    mass: float | None
    """Share of the whole probability on the answer tokens, where there are any."""
    computed: int
    """Tokens of its prompts that were not in the cache."""
    answer_tokens: tuple[int, ...] | None = None
    """The tokens whose logits are read, in the question's order, where letters are."""
    likeliest_token: int | None = None
    """That of the whole vocabulary, in the first order asked, where letters are read."""


class Once(NamedTuple):
    """What is computed once for all questions that have the same key."""

    key: bytes
    tokens: int


@dataclass(frozen=True, eq=False)
class WrittenQuestion(ABC):
    """One question in tokens, ready to be asked, with a prompt for each order of the options."""

    readout: ClassVar[Readout]

    index: int
    """Which of the request's questions it is."""
    question: Question
    prompts: tuple[Prompt, ...]

    @property
    @abstractmethod
    def answers(self) -> tuple[str, ...]:
        """What is scored behind the prompt for each option, for people."""

    @property
    def asked(self) -> tuple[AskedPrompt, ...]:
        """The prompts that are to be decoded."""
        return tuple(AskedPrompt(prompt.segments) for prompt in self.prompts)

    @abstractmethod
    def hear(self, place: int, decoded: DecodedPrompt) -> Heard:
        """What is kept of what the model says behind the prompt at `place` of `asked`."""

    @abstractmethod
    def read(self, heard: Sequence[Heard], prior: Numbers | None) -> Reading:
        """The answer, from what was heard behind all prompts of `asked`."""

    def prior(self, decoder: Decoder) -> Steps[Numbers | None]:  # noqa: ARG002 - most need nothing
        """What the options get whatever the state is, where that is taken off; computed once."""
        yield from ()
        return None

    def once(self, *, can_cut: bool) -> Once | None:  # noqa: ARG002 - as above
        """What `prior` would compute now; `can_cut` as `Decoder` says. Safe from any thread."""
        return None

    def behind(self, *, can_cut: bool) -> int:  # noqa: ARG002 - as above
        """How many tokens are computed behind its prompts."""
        return 0


class QuestionWriter(Protocol):
    """Writes the questions of one model; safe from any thread."""

    @property
    def system(self) -> Tokens:
        """What every prompt begins with."""

    @property
    def reads_head(self) -> bool:
        """Whether the output of a decision head is read, and not the logits of the vocabulary."""

    @property
    def reads_whole(self) -> bool:
        """Whether a prompt must go through the model in one piece, of which nothing can be kept."""

    @property
    def sample(self) -> Tokens:
        """Some tokens of this model's prompts, for tests of the engine."""

    def version(self, layout: Layout) -> str:
        """The `prompt_version` of its results."""

    def write(
        self, questions: Sequence[Question], layout: Layout, go_on: Callable[[], None]
    ) -> list[list[WrittenQuestion]]:
        """The questions of one request, grouped; those of a group share their first segments.

        `go_on` is called before each, and ends this by what it raises.
        Raises InvalidRequestError (a text that is no Unicode, more options than the model can tell apart) and
        PromptTooLongError (with counts).
        """

    def forget(self) -> None:
        """Leave nothing of what was computed."""


def refuse_too_long(question: Question, length: int, limit: int, with_option: str = "") -> None:
    """Raise PromptTooLongError where a prompt of `length` tokens is over `limit`."""
    if length > limit:
        raise PromptTooLongError(
            f"the prompt{with_option} has {length} tokens, "
            f"allowed are {limit}; shorten the state, the question or the options",
            path=question.path,
        )


def shared_prefix(group: Sequence[WrittenQuestion]) -> tuple[Tokens, ...]:
    """The first two segments of `group`, which has one readout; nothing where its prompts differ there."""
    first, *others = (prompt.segments[:_SHARED_SEGMENTS] for prompt in _prompts(group))
    same = all(np.array_equal(one, other) for each in others for one, other in zip(first, each, strict=True))
    return first if same else ()


def count_tokens(groups: Sequence[Sequence[WrittenQuestion]], *, can_cut: bool) -> int:
    """How many tokens the questions take to compute, a prefix that they share once.

    `can_cut` says whether the model can forget the last tokens only.
    """
    questions = [written for group in groups for written in group]
    total = sum(written.behind(can_cut=can_cut) for written in questions)
    total += sum(dict(once for written in questions if (once := written.once(can_cut=can_cut))).values())
    for group in groups:
        shared = sum(map(len, shared_prefix(group)))
        total += shared + sum(prompt.length - shared for prompt in _prompts(group))
    return total


def _prompts(group: Sequence[WrittenQuestion]) -> Iterator[Prompt]:
    return (prompt for written in group for prompt in written.prompts)
