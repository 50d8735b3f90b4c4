"""Batched mode: what several prompts still need goes into one forward pass; GPUs want much at once.

The sequences share all cells, so that a question is a fork of its state, and an option's words one of its
question. The last bits of a logit then depend on what else is computed and resident: docs/performance.md.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import TypeVar

import numpy as np

from semif_adapter.contract.probabilities import log_sum_exp
from semif_adapter.decoding.decoder import AskedPrompt, DecodedPrompt
from semif_adapter.decoding.forks import continue_on_fork
from semif_adapter.decoding.forks import portions as side_by_side
from semif_adapter.decoding.prefixes.prefix_tree import PrefixTree, Room
from semif_adapter.decoding.steps import Steps, forward, then, together
from semif_adapter.llama.context import ROWS_AT_ONCE, Context
from semif_adapter.llama.model import Model, Tokens
from semif_adapter.machine.mode_memory import BATCHED_SEQUENCES as SEQUENCES

T = TypeVar("T")

PASS_TOKENS = 512
"""Of one forward pass at most: GPUs want much at once."""
ROWS_KEPT = 4 * ROWS_AT_ONCE
"""Rows of logits of all prompts at once, a megabyte or less each."""
MOST_SIDE_BY_SIDE = 16
"""Continuations of one prompt at once."""


class BatchedDecoder:
    """The `Decoder` whose prompts go side by side."""

    shares_passes = True
    joins_questions = False
    invariant = False
    can_cut = False

    def __init__(self, model: Model, *, streams: int, context_tokens: int, threads: int) -> None:
        """Share the memory of `streams` prompts of `context_tokens`. Raises StartupError as `Context`."""
        self.context = Context(
            model,
            streams=streams,
            context_tokens=context_tokens,
            threads=threads,
            sequences=SEQUENCES,
            batch_tokens=PASS_TOKENS,
        )
        self._tree = PrefixTree(self.context, sequences=SEQUENCES, rows=ROWS_KEPT)

    def join(self, parts: Sequence[Steps[T]]) -> Steps[list[T]]:
        """Side by side."""
        return together(parts)

    def prime(self, system: Tokens) -> Steps[None]:
        """Have `system` in the tree, once: all prompts fork it."""
        yield from self.prefill((system,))

    def prefill(self, segments: Sequence[Tokens]) -> Steps[int]:
        """Have the beginning of a prompt in the tree; how many tokens were not yet."""
        hold = yield from self._tree.hold(segments, Room())
        self._tree.release(hold)
        return hold.computed

    def decode_all(
        self, asked: Sequence[AskedPrompt], read: Callable[[int, DecodedPrompt], T]
    ) -> Steps[list[T]]:
        """Each as `decode` does."""
        return self.join([then(self.decode(one), partial(read, place)) for place, one in enumerate(asked)])

    def decode(self, asked: AskedPrompt) -> Steps[DecodedPrompt]:
        """Run a prompt on a fork of its prefix, and the continuations side by side on forks of that."""
        *before, suffix = asked.segments
        continuations, marks = asked.continuations, asked.marks
        portions = side_by_side(continuations, MOST_SIDE_BY_SIDE)
        most = max(
            (sum(len(continuations[index]) - 1 for index in portion) for portion in portions), default=0
        )
        room = Room(
            cells=len(suffix) + most,
            sequences=1 + max(map(len, portions), default=0),
            rows=min(ROWS_AT_ONCE, max(1, most)),
        )
        hold = yield from self._tree.hold(before, room)
        try:
            branch, *twigs = hold.sequences
            self._tree.fork(hold, branch)
            wanted, most = 0 if marks else 1, self.context.batch_tokens
            rows = yield from forward(branch, hold.length, suffix, wanted, most, marks=marks)
            row = rows[-1]
            total = log_sum_exp(row) if continuations else 0.0
            values = np.array([float(row[tokens[0]]) - total for tokens in continuations])
            for portion in portions:
                more = yield from together(
                    [
                        continue_on_fork(
                            self.context, branch, twig, hold.length + len(suffix), continuations[index]
                        )
                        for twig, index in zip(twigs, portion, strict=False)
                    ]
                )
                values[portion] += more
            return DecodedPrompt(rows, values, hold.computed + len(suffix))
        finally:
            self._tree.release(hold)

    def keeping(self, segments: Sequence[Tokens]) -> AbstractContextManager[None]:
        """Have other beginnings than `segments` forgotten first, meanwhile."""
        return self._tree.keeping(segments)

    def missing(self, segments: Sequence[Tokens]) -> int:
        """How many tokens of a beginning are not computed now. Safe from any thread."""
        return self._tree.missing(segments)

    def drop(self) -> None:
        """Forget everything; no steps may be under way."""
        self._tree.drop()

    def close(self) -> None:
        """Free the context."""
        self.context.close()
