"""Invariant mode: one prompt after another, each on a stream of its own; no bit depends on the others."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import TypeVar

from semif_adapter.decoding.continuations import read_continuations
from semif_adapter.decoding.decoder import AskedPrompt, DecodedPrompt
from semif_adapter.decoding.prefixes.prefix_cache import PrefixCache
from semif_adapter.decoding.self_test import can_cut_tail, prove
from semif_adapter.decoding.steps import Steps, in_turn, then
from semif_adapter.decoding.streams import Stream
from semif_adapter.decoding.tiles import choose_tiles
from semif_adapter.llama.context import Context
from semif_adapter.llama.model import Model, Tokens

T = TypeVar("T")


class InvariantDecoder:
    """The `Decoder` that computes the same bits, whatever the load."""

    shares_passes = False
    joins_questions = False

    def __init__(
        self,
        model: Model,
        *,
        streams: int,
        context_tokens: int,
        threads: int,
        sample: Tokens,
        saved_bytes: int,
        reads_head: bool = False,
    ) -> None:
        """Test the model on tokens of `sample`, and its decision head. Raises StartupError as `Context`.

        Saved beginnings of prompts take `saved_bytes` at most.
        """
        self.context = Context(model, streams=streams, context_tokens=context_tokens, threads=threads)
        self.can_cut = not model.has_recurrent_layers and can_cut_tail(self.context, sample)
        tiles = choose_tiles(self.context, model, sample, reads_head=reads_head) if self.can_cut else None
        opened = [Stream(self.context, index, can_cut=self.can_cut, tiles=tiles) for index in range(streams)]
        self.invariant, restores = prove(self.context, opened, sample, reads_head=reads_head)
        # llama.cpp leaves out of a state what a sliding window no longer sees, so that the rest is restored
        # into other cells: other last bits, of prompts longer than the self-test's.
        saves_dropped = self.can_cut and restores and not model.has_sliding_window
        self._prefixes = PrefixCache(opened, saved_bytes=saved_bytes, saves_dropped=saves_dropped)

    def prime(self, system: Tokens) -> Steps[None]:
        """Have `system` on every stream that nobody has."""
        return self._prefixes.prime(system)

    def join(self, parts: Sequence[Steps[T]]) -> Steps[list[T]]:
        """One after another."""
        return in_turn(parts)

    def prefill(self, segments: Sequence[Tokens]) -> Steps[int]:
        """Have the beginning of a prompt on a stream; how many tokens were not yet."""
        if not segments:
            return 0
        stream, computed = yield from self._prefixes.hold(segments)
        self._prefixes.release(stream)
        return computed

    def decode_all(
        self, asked: Sequence[AskedPrompt], read: Callable[[int, DecodedPrompt], T]
    ) -> Steps[list[T]]:
        """Each as `decode` does."""
        return self.join([then(self.decode(one), partial(read, place)) for place, one in enumerate(asked)])

    def decode(self, asked: AskedPrompt) -> Steps[DecodedPrompt]:
        """Run a prompt on a stream, and the continuations one after another behind it."""
        *before, suffix = asked.segments
        stream, computed = yield from self._prefixes.hold(before)
        try:
            rows = yield from stream.extend(suffix, 0 if asked.marks else 1, asked.marks)
            values = yield from read_continuations(stream, rows[-1], asked.continuations)
            return DecodedPrompt(rows, values, computed + len(suffix))
        finally:
            self._prefixes.release(stream)

    def keeping(self, segments: Sequence[Tokens]) -> AbstractContextManager[None]:
        """Let others take other streams first, meanwhile, than the one that holds `segments`."""
        return self._prefixes.keeping(segments)

    def missing(self, segments: Sequence[Tokens]) -> int:
        """How many tokens of a beginning are not computed now. Safe from any thread."""
        return self._prefixes.missing(segments)

    def drop(self) -> None:
        """Forget everything; no steps may be under way."""
        self._prefixes.drop()

    def close(self) -> None:
        """Free the context."""
        self.context.close()
