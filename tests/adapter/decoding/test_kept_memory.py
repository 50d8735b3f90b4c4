"""What requests leave in memory between forward passes is bounded: rows of logits, saved states."""

import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bench.models.tiny_models import WIDE_TOKENS
from semif_adapter.contract.question import OptionText, Question
from semif_adapter.contract.wire import Mode
from semif_adapter.decoding.batched_decoder import ROWS_KEPT
from semif_adapter.machine.mode_memory import JOINED_BRANCHES
from tests.support.models.engines import fresh_engines

ROW = 4 * WIDE_TOKENS
LETTERS = "abcdefghijklmnopqrstuvwxyz"


class Grown:
    """How much more memory Python and NumPy had, at most, than before."""

    bytes = 0


@contextmanager
def most_grown() -> Iterator[Grown]:
    grown = Grown()
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        yield grown
        grown.bytes = tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("mode", "rows"), [("invariant", 20), ("joined", 2 * JOINED_BRANCHES), ("batched", ROWS_KEPT)]
)
def test_rows_of_logits_are_read_as_they_come(
    tiny_gguf: Callable[..., Path], library_dir: Path, mode: Mode, rows: int
) -> None:
    """However many prompts a request has: each option's turn to be first is one, and each question."""
    options = tuple(OptionText(letter, letter, letter) for letter in LETTERS)
    questions = [
        Question(str(number), "The lamp is on.", f"Which {number}?", options, "decision", rotate=True)
        for number in range(12)
    ]
    fresh = fresh_engines(tiny_gguf(vocabulary="wide"), library_dir, readout="letters", mode=mode)
    with fresh(context_tokens=1024) as engine:
        computation = engine.prepare(questions, "state-first")
        with most_grown() as grown:
            engine.begin(computation)
            while not computation.ended:
                engine.scheduler.advance()
        assert computation.result is not None
        assert sum(result.timing.rotations for result in computation.result.results) > ROWS_KEPT
    print(mode, grown.bytes / ROW)
    assert grown.bytes <= rows * ROW
