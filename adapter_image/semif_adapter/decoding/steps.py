"""Work on the model as steps: who wants something computed describes forward passes, somebody else runs them.

So a request can rest between any two of its passes, and several requests can share one.
"""

from collections.abc import Callable, Generator, Sequence
from itertools import islice, pairwise
from typing import TypeVar

import numpy as np

from semif_adapter.decoding.tiles import Tiles
from semif_adapter.llama.context import LEAST_JOINED, SHORT_TOKENS, Context, Pass, Rows
from semif_adapter.llama.model import Tokens

T = TypeVar("T")
U = TypeVar("U")

Steps = Generator[Sequence[Pass], Sequence[Rows], T]
"""Yields passes that do not wait for each other, and is sent the rows of each; none at all means: nothing
now, ask again after somebody else's pass. Closed in between it gives back what it holds."""


def forward(
    sequence: int,
    position: int,
    tokens: Tokens,
    wanted: int,
    most: int,
    *,
    marks: Sequence[int] = (),
    tiles: Tiles | None = None,
) -> Steps[Rows]:
    """Run `tokens` at `position` of `sequence`; the logits after each of the last `wanted`.

    With `marks`, places in `tokens` in order, the output of a decision head after these instead. Each part
    that `cuts` makes of them is a pass of its own; with `tiles` a short one is padded where that pays.
    """
    rows: list[Rows] = []
    for start, end in cuts(len(tokens), most):
        part = tokens[start:end]
        behind = len(tokens) - start - len(part)
        read = min(len(part), max(0, wanted - behind))
        inside = tuple(mark - start for mark in marks if start <= mark < start + len(part))
        padding = tiles.padding(position + start, len(part)) if tiles else 0
        rows += yield [Pass(sequence, position + start, part, read, inside, padding)]
    told = [one for one in rows if len(one)]
    return told[0] if len(told) == 1 else np.concatenate(told or rows)


def cuts(count: int, most: int) -> list[tuple[int, int]]:
    """Where `count` tokens are cut into passes: their starts and ends.

    At multiples of `most`, counted from their own start; a rest of at least LEAST_JOINED tokens, but fewer
    than SHORT_TOKENS, goes with the part before it.
    """
    starts = list(range(0, count, most))
    if len(starts) > 1 and LEAST_JOINED <= count - starts[-1] < SHORT_TOKENS:
        del starts[-1]
    return list(pairwise((*starts, count)))


def then(steps: Steps[T], read: Callable[[T], U]) -> Steps[U]:
    """What `read` makes of the result, at once."""
    return read((yield from steps))


def in_turn(parts: Sequence[Steps[T]]) -> Steps[list[T]]:
    """One after another; their results in order."""
    results = []
    for part in parts:
        result = yield from part
        results.append(result)
    return results


def together(parts: Sequence[Steps[T]]) -> Steps[list[T]]:
    """Side by side; their results in order."""
    results: dict[int, T] = {}
    live = dict(enumerate(parts))
    rows: dict[int, list[Rows]] = {}
    try:
        while True:
            passes: dict[int, Sequence[Pass]] = {}
            for index, part in list(live.items()):
                try:
                    passes[index] = part.send(rows[index]) if index in rows else next(part)
                except StopIteration as end:
                    results[index] = end.value
                    del live[index]
            if not live:
                return [results[index] for index in range(len(parts))]
            computed = iter((yield [one for wanted in passes.values() for one in wanted]))
            rows = {index: list(islice(computed, len(wanted))) for index, wanted in passes.items()}
    finally:
        for part in live.values():
            part.close()


def complete(steps: Steps[T], run: Callable[[Sequence[Pass]], Sequence[Rows]]) -> T:
    """Let `run` run all passes, with nobody else's between them."""
    try:
        passes = next(steps)
        while True:
            passes = steps.send(run(passes))
    except StopIteration as end:
        result: T = end.value
        return result


def decode(context: Context, sequence: int, position: int, tokens: Tokens, wanted: int = 0) -> Rows:
    """Run `tokens`, of any length, at `position` of `sequence`, now; the logits after the last `wanted`."""
    return complete(forward(sequence, position, tokens, wanted, context.batch_tokens), context.run)
