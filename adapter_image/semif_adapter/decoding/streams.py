"""Token sequences that can go back to an earlier point, exactly."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from semif_adapter.contract.errors import EngineError
from semif_adapter.decoding.steps import Steps, cuts, forward
from semif_adapter.decoding.tiles import Tiles
from semif_adapter.llama.context import Context, Rows
from semif_adapter.llama.model import Tokens

_UNKNOWN = -1


@dataclass(frozen=True)
class Mark:
    """A point of a stream to come back to."""

    length: int
    state: npt.NDArray[np.uint8] | None
    """What the context held at that point; without it the tokens behind the point can only be cut off."""

    @property
    def size(self) -> int:
        """Bytes of the state."""
        return 0 if self.state is None else self.state.nbytes


class Stream:
    """One sequence of a context.

    Every `extend` has forward passes of its own, so that the same segments in the same order always go
    through the same computation.
    """

    def __init__(self, context: Context, index: int, *, can_cut: bool, tiles: Tiles | None = None) -> None:
        """With `tiles` short passes are padded by that rule; only where the model can forget a tail."""
        self.context = context
        self._tiles = tiles
        self._index = index
        self.can_cut = can_cut
        """Whether the model can forget the last tokens only."""
        self.length = 0
        """Tokens that it holds; negative in the middle of `extend`, until it is cleared or taken back."""

    def clear(self) -> None:
        """Forget everything."""
        if not self.context.cut(self._index, 0):
            raise EngineError("llama.cpp could not clear a sequence")
        self.length = 0

    def cut(self, tokens: Tokens) -> list[Tokens]:
        """`tokens` as `extend` would put them through the model, a pass each."""
        return [tokens[start:end] for start, end in cuts(len(tokens), self.context.batch_tokens)]

    def extend(self, tokens: Tokens, wanted: int = 0, marks: Sequence[int] = ()) -> Steps[Rows]:
        """Append one segment; the logits after each of its last `wanted` tokens: (wanted, vocabulary).

        With `marks` the output of a decision head after the tokens at these places: (marks, width).
        """
        length, self.length = self.length, _UNKNOWN
        most = self.context.batch_tokens
        rows = yield from forward(self._index, length, tokens, wanted, most, marks=marks, tiles=self._tiles)
        self.length = length + len(tokens)
        return rows

    def mark(self) -> Mark:
        """Remember this point. Costs a copy of the stream's state where the model can cut no tail off."""
        return Mark(self.length, None) if self.can_cut else self.save()

    def save(self) -> Mark:
        """Remember this point by a copy of the stream's state: any stream of the context can go to it."""
        return Mark(self.length, self.context.save(self._index))

    @property
    def state_bytes(self) -> int:
        """Bytes of the state that `save` would copy."""
        return self.context.state_bytes(self._index)

    def rewind(self, mark: Mark, keep: int = 0) -> None:
        """Go back to `mark`, as if nothing had been appended since but the first `keep` tokens.

        They can be kept only where the tail is cut off. Right also after a failed forward pass.
        """
        if mark.state is not None:
            assert keep == 0
            self.length = _UNKNOWN
            self.context.restore(self._index, mark.state)
        elif not self.context.cut(self._index, mark.length + keep):
            raise EngineError("llama.cpp could not cut the tail of a sequence")
        self.length = mark.length + keep
