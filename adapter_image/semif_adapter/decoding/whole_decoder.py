"""For encoders: each prompt goes through the model in one piece, and nothing of it is kept."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import TypeVar

import numpy as np

from semif_adapter.decoding.decoder import AskedPrompt, DecodedPrompt
from semif_adapter.decoding.steps import Steps, complete, forward, in_turn, then
from semif_adapter.llama.context import Context, Rows
from semif_adapter.llama.model import Model, Tokens

T = TypeVar("T")


class WholeDecoder:
    """The `Decoder` of models whose tokens see each other both ways: there is no memory to begin from."""

    shares_passes = False
    joins_questions = False
    can_cut = False

    def __init__(self, model: Model, *, context_tokens: int, threads: int, sample: Tokens) -> None:
        """Prompts of up to `context_tokens`. Raises StartupError as `Context` does."""
        self.context = Context(
            model, streams=1, context_tokens=context_tokens, threads=threads, batch_tokens=context_tokens
        )
        first, _, again = (self._output(tokens) for tokens in (sample, sample[::-1], sample))
        self.invariant = np.array_equal(first, again)

    def _output(self, tokens: Tokens) -> Rows:
        return complete(forward(0, 0, tokens, 0, len(tokens), marks=(0,)), self.context.run)

    def prime(self, system: Tokens) -> Steps[None]:  # noqa: ARG002 - nothing is kept
        """Nothing begins a prompt."""
        yield from ()

    def prefill(self, segments: Sequence[Tokens]) -> Steps[int]:  # noqa: ARG002 - as above
        """Nothing is computed before the prompt."""
        yield from ()
        return 0

    def join(self, parts: Sequence[Steps[T]]) -> Steps[list[T]]:
        """One after another."""
        return in_turn(parts)

    def decode_all(
        self, asked: Sequence[AskedPrompt], read: Callable[[int, DecodedPrompt], T]
    ) -> Steps[list[T]]:
        """Each as `decode` does."""
        return self.join([then(self.decode(one), partial(read, place)) for place, one in enumerate(asked)])

    def decode(self, asked: AskedPrompt) -> Steps[DecodedPrompt]:
        """Run the last segment, which is the whole prompt, and read its head at `marks`."""
        assert not asked.continuations
        tokens = asked.segments[-1]
        rows = yield from forward(0, 0, tokens, 0, len(tokens), marks=asked.marks)
        return DecodedPrompt(rows, np.empty(0), len(tokens))

    def keeping(self, segments: Sequence[Tokens]) -> AbstractContextManager[None]:  # noqa: ARG002 - as above
        """Nothing is kept."""
        return nullcontext()

    def missing(self, segments: Sequence[Tokens]) -> int:
        """All of it."""
        return sum(map(len, segments))

    def drop(self) -> None:
        """There is nothing to forget."""

    def close(self) -> None:
        """Free the context."""
        self.context.close()
