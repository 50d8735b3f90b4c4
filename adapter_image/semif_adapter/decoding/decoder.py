"""How prompts go through the model: what the decoders of all modes have in common."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol, TypeVar

from semif_adapter.contract.probabilities import Numbers
from semif_adapter.decoding.steps import Steps
from semif_adapter.llama.context import Context, Rows
from semif_adapter.llama.model import Tokens

T = TypeVar("T")


class AskedPrompt(NamedTuple):
    """A prompt, and what is read behind it."""

    segments: Sequence[Tokens]
    continuations: tuple[Tokens, ...] = ()
    """Texts whose probabilities are read behind it."""
    marks: Sequence[int] = ()
    """Places in the last segment where a decision head is read instead of the logits behind the prompt."""


class DecodedPrompt(NamedTuple):
    """A prompt that went through the model: what the model says behind it."""

    rows: Rows
    """The logits after its last token, shape (1, vocabulary); or a head's output at marks: (marks, width)."""
    values: Numbers
    """Log-probability of each continuation, shape (continuations,)."""
    computed: int
    """Tokens of the prompt that were not in the cache."""


class Decoder(Protocol):
    """Decodes prompts, which are segments, in a context of its own, and keeps their beginnings."""

    context: Context
    invariant: bool
    """Whether a start-up self-test found that no bit depends on what else is computed."""
    shares_passes: bool
    """Whether several requests may go into one forward pass."""
    joins_questions: bool
    """Whether all prompts of a request are to be given to one `decode_all`."""
    can_cut: bool
    """Whether continuations that begin alike share their first tokens."""

    def prime(self, system: Tokens) -> Steps[None]:
        """Have `system`, which prompts begin with, computed wherever one may begin."""

    def prefill(self, segments: Sequence[Tokens]) -> Steps[int]:
        """Have the beginning of a prompt computed; how many tokens were not yet."""

    def decode(self, asked: AskedPrompt) -> Steps[DecodedPrompt]:
        """Run a whole prompt, and each of its continuations behind it."""

    def decode_all(
        self, asked: Sequence[AskedPrompt], read: Callable[[int, DecodedPrompt], T]
    ) -> Steps[list[T]]:
        """Run prompts of one request, each as `decode` does or, with `joins_questions`, side by side.

        What `read` makes of each, by its place, is kept and not the rows: some are as long as the vocabulary.
        """

    def join(self, parts: Sequence[Steps[T]]) -> Steps[list[T]]:
        """Do what can be done in any order; the results in theirs."""

    def keeping(self, segments: Sequence[Tokens]) -> AbstractContextManager[None]:
        """Prefer to forget other beginnings than `segments` meanwhile."""

    def missing(self, segments: Sequence[Tokens]) -> int:
        """How many tokens of a beginning are not computed now. Safe from any thread."""

    def drop(self) -> None:
        """Forget everything; no steps may be under way."""

    def close(self) -> None:
        """Free the context."""
