"""From logits to numbers: answer letters, log-probabilities of options, their softmax; in float64."""

import itertools
import string
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from semif_adapter.contract.errors import EngineError, StartupError
from semif_adapter.contract.wire import MAX_OPTIONS
from semif_adapter.decoding.steps import Steps
from semif_adapter.decoding.streams import Stream
from semif_adapter.llama.model import Model, Tokens
from semif_adapter.prompt.chat_template import Template

Numbers = npt.NDArray[np.float64]

ROWS_AT_ONCE = 64
"""Most rows of logits asked for in one forward pass. llama.cpp keeps room for the most it ever gave, and each
is as long as the vocabulary: a text of some thousand tokens would take gigabytes for good."""

MOST_SHARED_TOKENS = 16
"""Most leading tokens that continuations share: the logits behind each are kept, a megabyte or less."""


@dataclass(frozen=True)
class Label:
    """What an option is called in the prompt, and the one token that answers with it."""

    text: str
    token: int


def find_labels(model: Model, template: Template) -> tuple[Label, ...]:
    """The labels that `model` can answer with, at most 255: A to Z first, then pairs and small letters.

    A label is one token of its own behind the rendered prompt, leaving the prompt's tokens as they are.
    Raises StartupError where a letter from A to Z is not; others that are not are passed over.
    """
    before = model.tokenize(template.tail, parse_special=True)
    labels: dict[int, Label] = {}
    for text in _label_texts():
        tokens = model.tokenize(template.tail + template.answer_lead + text, parse_special=True)
        token = int(tokens[-1])
        single = (
            len(tokens) == len(before) + 1 and np.array_equal(tokens[:-1], before) and token not in labels
        )
        if single:
            labels[token] = Label(text, token)
        elif len(text) == 1 and text.isupper():
            raise StartupError(
                f"the model cannot answer with the letter {text}: "
                "behind its prompt it is not one token of its own; "
                'set readout = "text" in the [prompt] of its preset (SEMIF_READOUT=text)'
            )
        if len(labels) == MAX_OPTIONS:
            break
    return tuple(labels.values())


def _label_texts() -> Iterator[str]:
    upper, lower = string.ascii_uppercase, string.ascii_lowercase
    yield from upper
    yield from map("".join, itertools.product(upper, repeat=2))
    yield from lower
    yield from map("".join, itertools.product(upper, lower))
    yield from map("".join, itertools.product(lower, repeat=2))


def read_letters(row: npt.NDArray[np.float32], labels: tuple[Label, ...]) -> tuple[Numbers, float]:
    """The labels' logits in `row`, shape (labels,), and the share of the whole probability that they hold."""
    logits = row[[label.token for label in labels]].astype(np.float64)
    mass = float(np.exp(logits - log_sum_exp(row)).sum())
    if mass == 0.0:
        raise EngineError("the model puts no probability on any option")
    return logits, mass


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


def log_sum_exp(row: npt.NDArray[np.float32]) -> float:
    """Logarithm of the sum of exponentials of `row`. Raises EngineError where it is no finite number."""
    largest = float(row.max())
    total = (
        largest + float(np.log(np.exp(row - largest, dtype=np.float64).sum()))
        if np.isfinite(largest)
        else np.nan
    )
    if not np.isfinite(total):
        raise EngineError("the model gave logits that are not finite numbers")
    return total


def softmax(logits: Numbers, temperature: float = 1.0) -> Numbers:
    """Probabilities of the same shape, those of `logits` divided by `temperature`, which is above 0.

    Raises EngineError where a logit is NaN or none is finite.
    """
    largest = logits.max()
    if not np.isfinite(largest):
        raise EngineError("the options' logits are not finite numbers")
    weights = np.exp((logits - largest) / temperature)
    return np.asarray(weights / weights.sum(), np.float64)
