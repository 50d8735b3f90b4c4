"""From logits to numbers: answer letters, log-probabilities of options, their softmax; in float64."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from semif_adapter.contract.probabilities import Numbers, log_sum_exp
from semif_adapter.decoding.steps import Steps
from semif_adapter.decoding.streams import Stream
from semif_adapter.llama.context import ROWS_AT_ONCE
from semif_adapter.llama.model import Tokens

MOST_SHARED_TOKENS = 16
"""Most leading tokens that continuations share: the logits behind each are kept, a megabyte or less."""


class _Point(NamedTuple):
    """A place behind the prompt: the logits there, their log-sum-exp, and the log-probability of the way."""

    row: npt.NDArray[np.float32]
    total: float
    value: float

    def then(self, token: int) -> float:
        """Log-probability of getting here and on with `token`."""
        return self.value + float(self.row[token]) - self.total


def read_continuations(
    stream: Stream, row: npt.NDArray[np.float32], continuations: tuple[Tokens, ...]
) -> Steps[Numbers]:
    """Log-probability of each continuation behind `stream`, shape (continuations,), in their order.

    `row` holds the logits after the stream's last token. One continuation after another is decoded right
    behind the prompt, in calls of its own of at most ROWS_AT_ONCE tokens, and taken back before the next; the
    last one may stay. They go in the order of their tokens, so that the request's order changes nothing, and
    those that begin alike share their first tokens where the model can forget only the last ones.
    """
    if not continuations:
        return np.empty(0)
    points = [_Point(row, log_sum_exp(row), 0.0)]  # along the latest continuation
    path = np.empty(0, np.int32)  # the tokens between the points
    mark = stream.mark() if any(len(tokens) > 1 for tokens in continuations) else None
    values = np.empty(len(continuations))
    for index in _decoding_order(continuations):
        tokens = continuations[index]
        shared = _common_length(path, tokens[:-1])
        del points[shared + 1 :]
        value = points[shared].then(tokens[shared])
        if mark is not None and shared < len(tokens) - 1:
            stream.rewind(mark, keep=shared)
            for start in range(shared, len(tokens) - 1, ROWS_AT_ONCE):
                part = tokens[start : start + ROWS_AT_ONCE + 1]
                rows = yield from stream.extend(part[:-1], len(part) - 1)
                for after, logits in zip(part[1:], rows, strict=True):
                    point = _Point(logits, log_sum_exp(logits), value)
                    value = point.then(after)
                    if stream.can_cut and len(points) <= MOST_SHARED_TOKENS:
                        points.append(point._replace(row=logits.copy()))
        path = tokens[: len(points) - 1]
        values[index] = value
    return values


def count_decoded(continuations: Sequence[Tokens], *, can_cut: bool) -> int:
    """How many tokens `read_continuations` decodes for `continuations`."""
    count = 0
    path: Tokens | None = None
    for index in _decoding_order(continuations):
        tokens = continuations[index][:-1]
        shared = _common_length(path, tokens) if path is not None else 0
        count += len(tokens) - shared
        path = tokens[:MOST_SHARED_TOKENS] if can_cut else None
    return count


def _decoding_order(continuations: Sequence[Tokens]) -> list[int]:
    """The continuations' indices in the order of their tokens."""
    return sorted(range(len(continuations)), key=lambda index: continuations[index].astype(">i4").tobytes())


def _common_length(first: Tokens, second: Tokens) -> int:
    """How many leading tokens are the same."""
    count = min(len(first), len(second))
    different = np.flatnonzero(first[:count] != second[:count])
    return int(different[0]) if len(different) else count
