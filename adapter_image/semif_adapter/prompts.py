"""How prompts go through the model: the door that both modes have, and the invariant one behind it."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from semif_adapter.llama import Tokens
from semif_adapter.prefix_cache import PrefixCache
from semif_adapter.readout import Numbers, read_continuations
from semif_adapter.steps import Steps, in_turn

T = TypeVar("T")


class Reading(NamedTuple):
    """What the model says behind a prompt."""

    row: npt.NDArray[np.float32]
    """The logits after its last token, shape (vocabulary,)."""
    values: Numbers
    """Log-probability of each continuation, shape (continuations,)."""
    computed: int
    """Tokens of the prompt that were not in the cache."""


class Prompts(Protocol):
    """Runs prompts, which are segments, and keeps their beginnings."""

    def prefill(self, segments: Sequence[Tokens]) -> Steps[int]:
        """Have the beginning of a prompt computed; how many tokens were not yet."""

    def read(self, segments: Sequence[Tokens], continuations: tuple[Tokens, ...] = ()) -> Steps[Reading]:
        """Run a whole prompt, and each of `continuations` behind it."""

    def join(self, parts: Sequence[Steps[T]]) -> Steps[list[T]]:
        """Do what can be done in any order; the results in theirs."""

    def keeping(self, segments: Sequence[Tokens]) -> AbstractContextManager[None]:
        """Prefer to forget other beginnings than `segments` meanwhile."""

    def missing(self, segments: Sequence[Tokens]) -> int:
        """How many tokens of a beginning are not computed now."""

    def drop(self) -> None:
        """Forget everything; no steps may be under way."""


class InvariantPrompts:
    """One prompt after another, each on a stream of its own: no bit depends on what else there is."""

    def __init__(self, prefixes: PrefixCache) -> None:
        self._prefixes = prefixes
        self.keeping = prefixes.keeping
        self.missing = prefixes.missing
        self.drop = prefixes.drop

    def join(self, parts: Sequence[Steps[T]]) -> Steps[list[T]]:
        """One after another."""
        return in_turn(parts)

    def prefill(self, segments: Sequence[Tokens]) -> Steps[int]:
        """As the protocol says."""
        if not segments:
            return 0
        stream, computed = yield from self._prefixes.hold(segments)
        self._prefixes.release(stream)
        return computed

    def read(self, segments: Sequence[Tokens], continuations: tuple[Tokens, ...] = ()) -> Steps[Reading]:
        """As the protocol says."""
        *before, suffix = segments
        stream, computed = yield from self._prefixes.hold(before)
        try:
            [row] = yield from stream.extend(suffix, wanted=1)
            values = yield from read_continuations(stream, row, continuations)
            return Reading(row, values, computed + len(suffix))
        finally:
            self._prefixes.release(stream)
