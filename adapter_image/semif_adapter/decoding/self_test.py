"""Proof, on the loaded model, that an answer does not depend on what else the engine holds."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from semif_adapter.decoding.decoder import AskedPrompt
from semif_adapter.decoding.steps import complete, decode
from semif_adapter.decoding.streams import Mark, Stream
from semif_adapter.llama.context import Context, Rows
from semif_adapter.llama.model import Tokens

_SEGMENT_TOKENS = (8, 64, 33, 7)


def can_cut_tail(context: Context, sample: Tokens) -> bool:
    """Whether the model can forget the last tokens of a sequence; hybrid and recurrent ones refuse."""
    decode(context, 0, 0, np.resize(sample, 8))
    able = context.cut(0, 4)
    context.reset()
    return able


class Proof(NamedTuple):
    """What the self-test found."""

    invariant: bool
    """Whether no bit depends on what else the engine does."""
    restores: bool
    """Whether a saved state gives the same bits in another stream, for prompts as short as the test's."""


def prove(context: Context, streams: Sequence[Stream], sample: Tokens, *, reads_head: bool) -> Proof:
    """Whether the last logits of a prompt, or its head's output, are bit-identical whatever the engine does.

    Alone; beside another resident sequence; in another stream; again after a branch was taken back; and in
    another stream from a saved state, which counts for invariance where the model can go back in no other
    way. The prompt's segments are of several lengths and made of the tokens of `sample`. Leaves the context
    empty.
    """
    first, last = streams[0], streams[-1]
    *before, suffix = (np.resize(sample, count) for count in _SEGMENT_TOKENS)

    def extend(stream: Stream, tokens: Tokens, wanted: int = 0) -> Rows:
        if wanted and reads_head:
            return complete(stream.extend(tokens, marks=(0, len(tokens) - 1)), context.run)
        return complete(stream.extend(tokens, wanted), context.run)

    def fill(stream: Stream) -> None:
        stream.clear()
        for segment in before:
            extend(stream, segment)

    def answer(stream: Stream) -> Rows:
        return extend(stream, suffix, wanted=1)

    fill(first)
    reference = answer(first)
    fill(last)
    extend(last, np.concatenate([suffix, suffix]))
    fill(first)
    outcomes = [answer(first)]
    fill(last)
    saved = last.save()
    mark = Mark(saved.length, None) if last.can_cut else saved
    outcomes.append(answer(last))
    extend(last, suffix[:1])
    extend(first, suffix)
    last.rewind(mark)
    outcomes.append(answer(last))
    first.rewind(saved)
    restores = np.array_equal(reference, answer(first))
    context.reset()
    for stream in streams:
        stream.clear()
    same = bool(np.isfinite(reference).all()) and all(np.array_equal(reference, rows) for rows in outcomes)
    return Proof(same and (restores or first.can_cut), same and restores)


def prove_joined(
    answer: Callable[[Sequence[AskedPrompt]], Sequence[Rows]],
    forget: Callable[[], None],
    sample: Tokens,
    *,
    reads_head: bool,
) -> bool:
    """Whether what joined mode reads behind the prompts of a request is bit-identical whatever came before.

    From an emptied context; with its prefix still there; behind another request with the same system's words,
    whose prefix takes its place; and behind one with half of its questions. `answer` decodes the prompts of a
    request, `forget` empties the context, which it does at the end too.
    """
    system, state, other, *suffixes = (np.resize(sample, count) for count in (8, 64, 33, 7, 70, 19))
    marks = (0, 6) if reads_head else ()
    asked = [AskedPrompt((system, state, suffix), marks=marks) for suffix in suffixes]
    before = [AskedPrompt((system, other, suffix), marks=marks) for suffix in suffixes[1:]]
    forget()
    reference = answer(asked)
    outcomes = [answer(asked)]
    answer(before)
    outcomes.append(answer(asked))
    answer(asked[:2])
    outcomes.append(answer(asked))
    forget()
    return all(np.isfinite(rows).all() for rows in reference) and all(
        np.array_equal(one, rows) for told in outcomes for one, rows in zip(reference, told, strict=True)
    )
