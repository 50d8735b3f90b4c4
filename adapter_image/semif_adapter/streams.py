"""Token sequences that can go back to an earlier point, exactly."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from semif_adapter.errors import EngineError
from semif_adapter.llama import Context, Rows, Tokens


@dataclass(frozen=True)
class Mark:
    """A point of a stream to come back to."""

    length: int
    state: npt.NDArray[np.uint8] | None
    """What the context held at that point; only where the model cannot forget the tokens behind it."""


class Stream:
    """One sequence of a context.

    Every `extend` is a forward pass of its own, so that the same segments in the same order always go through
    the same computation.
    """

    def __init__(self, context: Context, index: int, *, can_cut: bool) -> None:
        self._context = context
        self._index = index
        self.can_cut = can_cut
        """Whether the model can forget the last tokens only."""
        self.length = 0

    def clear(self) -> None:
        """Forget everything."""
        if not self._context.cut(self._index, 0):
            raise EngineError("llama.cpp could not clear a sequence")
        self.length = 0

    def extend(self, tokens: Tokens, wanted: int = 0) -> Rows:
        """Append one segment; the logits after each of its last `wanted` tokens: (wanted, vocabulary)."""
        rows = self._context.decode(self._index, self.length, tokens, wanted)
        self.length += len(tokens)
        return rows

    def mark(self) -> Mark:
        """Remember this point. Costs a copy of the stream's state on hybrid and recurrent models."""
        return Mark(self.length, None if self.can_cut else self._context.save(self._index))

    def rewind(self, mark: Mark, keep: int = 0) -> None:
        """Go back to `mark`, as if nothing had been appended since but the first `keep` tokens.

        They can be kept only where the model can cut.
        """
        if mark.state is not None:
            assert keep == 0
            self._context.restore(self._index, mark.state)
        elif not self._context.cut(self._index, mark.length + keep):
            raise EngineError("llama.cpp could not cut the tail of a sequence")
        self.length = mark.length + keep
