"""Continuations of prompts on forks of them, side by side: for contexts whose sequences share all cells."""

from collections.abc import Sequence

from semif_adapter.contract.probabilities import log_sum_exp
from semif_adapter.decoding.steps import Steps, forward
from semif_adapter.llama.context import ROWS_AT_ONCE, Context
from semif_adapter.llama.model import Tokens


def continue_on_fork(context: Context, branch: int, twig: int, position: int, tokens: Tokens) -> Steps[float]:
    """Log-probability of `tokens` behind `branch` and the first of them, on `twig`, which is empty."""
    context.fork(branch, twig)
    value = 0.0
    for start in range(0, len(tokens) - 1, ROWS_AT_ONCE):
        part = tokens[start : start + ROWS_AT_ONCE + 1]
        rows = yield from forward(twig, position + start, part[:-1], len(part) - 1, ROWS_AT_ONCE)
        for after, logits in zip(part[1:], rows, strict=True):
            value += float(logits[after]) - log_sum_exp(logits)
    context.cut(twig, 0)
    return value


def portions(continuations: Sequence[Tokens], most: int) -> list[list[int]]:
    """Which continuations of more than one token go side by side: as many as rows allow, `most` at most."""
    found: list[list[int]] = []
    rows = 0
    for index, tokens in enumerate(continuations):
        count = len(tokens) - 1
        if not count:
            continue
        if not found or rows + count > ROWS_AT_ONCE or len(found[-1]) == most:
            found.append([])
            rows = 0
        found[-1].append(index)
        rows += count
    return found
