"""Joined mode: the prompts of a request go side by side, in a context that holds nothing else.

So an answer is a function of its request alone, its other questions included: never of other requests, of
what is cached or of the load (record 0018). Many short prompts become few full passes.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import pairwise
from typing import NamedTuple, TypeVar

import numpy as np

from semif_adapter.contract.probabilities import Numbers, log_sum_exp
from semif_adapter.decoding.decoder import AskedPrompt, DecodedPrompt
from semif_adapter.decoding.forks import continue_on_fork
from semif_adapter.decoding.forks import portions as side_by_side
from semif_adapter.decoding.prefixes.prefix_name import path_of
from semif_adapter.decoding.prefixes.sole_prefix import SolePrefix
from semif_adapter.decoding.self_test import can_cut_tail, prove_joined
from semif_adapter.decoding.steps import Steps, complete, cuts, in_turn, together
from semif_adapter.decoding.streams import Stream
from semif_adapter.decoding.tiles import choose_tiles
from semif_adapter.llama.context import BATCH_TOKENS, Context, Pass, Rows
from semif_adapter.llama.model import Model, Tokens
from semif_adapter.machine.mode_memory import JOINED_BRANCHES as BRANCHES
from semif_adapter.machine.mode_memory import JOINED_ROOM_TOKENS as ROOM_TOKENS

T = TypeVar("T")

SEQUENCES = 1 + BRANCHES
"""The prefix and what goes on from it."""
PORTION_TOKENS = ROOM_TOKENS - BATCH_TOKENS
"""Of the prompts that are in the context at once, behind their prefix, and of all that is continued behind
them; more only where it is one prompt."""


class _Branch(NamedTuple):
    """One prompt of a portion, behind the prefix."""

    sequence: int
    tokens: Tokens
    marks: Sequence[int]


class JoinedDecoder:
    """The `Decoder` whose answers depend on their request alone."""

    shares_passes = False
    joins_questions = True
    can_cut = False

    def __init__(
        self,
        model: Model,
        *,
        context_tokens: int,
        threads: int,
        sample: Tokens,
        saved_bytes: int,
        reads_head: bool = False,
    ) -> None:
        """Test the model on tokens of `sample`, and its decision head. Raises StartupError as `Context`.

        Saved beginnings of prompts take `saved_bytes` at most.
        """
        self.context = Context(
            model,
            streams=1,
            context_tokens=context_tokens + ROOM_TOKENS,
            threads=threads,
            sequences=SEQUENCES,
        )
        can_cut = not model.has_recurrent_layers and can_cut_tail(self.context, sample)
        self._tiles = choose_tiles(self.context, model, sample, reads_head=reads_head) if can_cut else None
        self._stream = Stream(self.context, 0, can_cut=can_cut, tiles=self._tiles)
        # Of prompts longer than the self-test's llama.cpp leaves out what a sliding window no longer sees.
        restores = not model.has_sliding_window
        self._prefix = SolePrefix(self._stream, saved_bytes=saved_bytes, restores=restores)
        self.invariant = self._prove(sample, reads_head=reads_head)
        if not self.invariant and self._prefix.restores:
            self._prefix.restores = False
            self.invariant = self._prove(sample, reads_head=reads_head)

    def _prove(self, sample: Tokens, *, reads_head: bool) -> bool:
        def answer(asked: Sequence[AskedPrompt]) -> list[Rows]:
            return complete(self.decode_all(asked, lambda _, one: one.rows), self.context.run)

        return prove_joined(answer, self._forget, sample, reads_head=reads_head)

    def _forget(self) -> None:
        self.context.reset()
        self.drop()

    def prime(self, system: Tokens) -> Steps[None]:
        """Have `system` in the context."""
        yield from self.prefill((system,))

    def join(self, parts: Sequence[Steps[T]]) -> Steps[list[T]]:
        """One after another."""
        return in_turn(parts)

    def prefill(self, segments: Sequence[Tokens]) -> Steps[int]:
        """Have the beginning of a prompt computed; how many tokens were not yet.

        Others may have the context between its pieces, where it can come back to them.
        """
        pieces, computed = self._prefix.pieces(segments), 0
        first = max(1, self._prefix.depth(pieces) if self._prefix.restores else len(pieces))
        for end in range(first, len(pieces) + 1):
            missing = yield from self._prefix.hold(pieces[:end])
            self._prefix.release()
            computed += missing
            if missing and end < len(pieces):
                yield from self._prefix.rest()
        return computed

    def decode(self, asked: AskedPrompt) -> Steps[DecodedPrompt]:
        """Run a prompt that no other one stands beside."""
        [decoded] = yield from self.decode_all((asked,), lambda _, one: one)
        return decoded

    def decode_all(
        self, asked: Sequence[AskedPrompt], read: Callable[[int, DecodedPrompt], T]
    ) -> Steps[list[T]]:
        """Run prompts of one request side by side, as many at once as the context takes.

        What `read` makes of each is kept; a request that rests between portions has no rows of logits.
        """
        told: list[T] = []
        for portion in _portions([self._with_short_end(one) for one in asked]):
            if told:
                yield from self._prefix.rest()
            told += [
                read(place, one)
                for place, one in enumerate((yield from self._decode_portion(portion)), len(told))
            ]
        return told

    def keeping(self, segments: Sequence[Tokens]) -> AbstractContextManager[None]:  # noqa: ARG002 - see below
        """There is one prefix in the context; the others are saved."""
        return nullcontext()

    def missing(self, segments: Sequence[Tokens]) -> int:
        """How many tokens of a beginning are not computed now. Safe from any thread."""
        return self._prefix.missing(segments)

    def drop(self) -> None:
        """Forget everything; no steps may be under way."""
        self._prefix.drop()

    def close(self) -> None:
        """Free the context."""
        self.context.close()

    def _with_short_end(self, asked: AskedPrompt) -> AskedPrompt:
        """A prompt that fills a portion alone, most of it moved into its prefix: others may go in between.

        The whole passes before its end, and before what is read of a head. Not where that prefix would be in
        the way of a shorter one, which is neither saved nor can be cut back to.
        """
        *before, last = asked.segments
        most = self.context.batch_tokens
        read = min((len(last) - 1, *asked.marks))
        moved = max((start for start, _ in cuts(len(last), most) if start <= read), default=0)
        if not (moved and len(last) > PORTION_TOKENS and self._stream.can_cut):
            return asked
        return asked._replace(
            segments=(*before, last[:moved], last[moved:]), marks=[mark - moved for mark in asked.marks]
        )

    def _decode_portion(self, portion: Sequence[AskedPrompt]) -> Steps[list[DecodedPrompt]]:
        prefix = portion[0].segments[:-1]
        computed = yield from self.prefill(prefix)
        computed += yield from self._prefix.hold(prefix)
        branches = [
            _Branch(place + 1, asked.segments[-1], asked.marks) for place, asked in enumerate(portion)
        ]
        ended = False
        try:
            for branch in branches:
                self.context.fork(0, branch.sequence)
            rows = yield from self._run(branches)
            values = yield from self._continue(branches, rows, [asked.continuations for asked in portion])
            ended = True
        finally:
            for sequence in range(1, SEQUENCES):
                self.context.cut(sequence, 0)
            if not ended:
                self._prefix.spoil()
            self._prefix.release()
        return [
            DecodedPrompt(told, read, len(branch.tokens) + (0 if place else computed))
            for place, (branch, told, read) in enumerate(zip(branches, rows, values, strict=True))
        ]

    def _run(self, branches: Sequence[_Branch]) -> Steps[list[Rows]]:
        """What is read behind each of `branches`, whose tokens go on in as few passes as they fill."""
        length = self._stream.length
        rows: list[list[Rows]] = [[] for _ in branches]
        for taken in _passes([len(branch.tokens) for branch in branches], self.context):
            passes = []
            for place, start, end in taken:
                branch = branches[place]
                marks = tuple(mark - start for mark in branch.marks if start <= mark < end)
                wanted = int(end == len(branch.tokens) and not branch.marks)
                passes.append(Pass(branch.sequence, length + start, branch.tokens[start:end], wanted, marks))
            if self._tiles:
                count = sum(len(one.tokens) for one in passes)
                passes[-1] = passes[-1]._replace(padding=self._tiles.padding(passes[-1].position, count))
            told = yield passes
            for (place, _, _), read in zip(taken, told, strict=True):
                rows[place] += [read] if len(read) else []
        return [np.concatenate(read) for read in rows]

    def _continue(
        self,
        branches: Sequence[_Branch],
        rows: Sequence[Rows],
        continuations: Sequence[tuple[Tokens, ...]],
    ) -> Steps[list[Numbers]]:
        """Log-probability of each branch's continuations, all side by side."""
        values = []
        for read, texts in zip(rows, continuations, strict=True):
            total = log_sum_exp(read[-1]) if texts else 0.0
            values.append(np.array([float(read[-1][tokens[0]]) - total for tokens in texts]))
        flat = [(place, index) for place, texts in enumerate(continuations) for index in range(len(texts))]
        twigs = range(len(branches) + 1, SEQUENCES)
        for portion in side_by_side([continuations[place][index] for place, index in flat], len(twigs)):
            chosen = [flat[number] for number in portion]
            more = yield from together(
                [
                    continue_on_fork(
                        self.context,
                        branches[place].sequence,
                        twig,
                        self._stream.length + len(branches[place].tokens),
                        continuations[place][index],
                    )
                    for twig, (place, index) in zip(twigs, chosen, strict=False)
                ]
            )
            for (place, index), value in zip(chosen, more, strict=True):
                values[place][index] += value
        return values


def _portions(asked: Sequence[AskedPrompt]) -> Iterator[list[AskedPrompt]]:
    """Prompts that are in the context at once: neighbours with one prefix, while there is room for them.

    Where they have continuations, half of the sequences are for these.
    """
    portion: list[AskedPrompt] = []
    tokens = 0
    for one in asked:
        most = BRANCHES // 2 if one.continuations else BRANCHES
        count = len(one.segments[-1]) + sum(len(words) - 1 for words in one.continuations)
        full = len(portion) >= most or tokens + count > PORTION_TOKENS
        if portion and (full or path_of(one.segments[:-1]) != path_of(portion[0].segments[:-1])):
            yield portion
            portion, tokens = [], 0
        portion.append(one)
        tokens += count
    if portion:
        yield portion


def _passes(lengths: Sequence[int], context: Context) -> Iterator[list[tuple[int, int, int]]]:
    """Segments of these `lengths` one behind another, cut into the fewest passes.

    All about equal; one segment alone where invariant mode cuts it, for the same bits. Of each pass which
    segments are in it, from where to where.
    """
    total = sum(lengths)
    count = -(-total // context.most_tokens)
    equal = pairwise(total * number // count for number in range(count + 1))
    starts = np.cumsum([0, *lengths]).tolist()
    for low, high in equal if len(lengths) > 1 else cuts(total, context.batch_tokens):
        yield [
            (place, max(low - start, 0), min(high, start + length) - start)
            for place, (start, length) in enumerate(zip(starts, lengths, strict=False))
            if start < high and start + length > low
        ]
