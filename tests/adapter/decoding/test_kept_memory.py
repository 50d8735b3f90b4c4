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
from semif_adapter.machine import mode_memory
from semif_adapter.machine.mode_memory import JOINED_BRANCHES
from tests.support.models.engines import fresh_engines
from tests.support.models.interleaved import ask

ROW = 4 * WIDE_TOKENS
BESIDE = 300_000
"""Bytes of a request's own tokens and names, and of its answer: less than a state of a long prompt."""
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


@pytest.mark.parametrize("streams", [2, 4])
@pytest.mark.parametrize("architecture", ["qwen3", "qwen35"])
@pytest.mark.parametrize("mode", ["invariant", "joined", "batched"])
def test_saved_states_take_no_more_than_is_announced(
    tiny_gguf: Callable[..., Path],
    library_dir: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    mode: Mode,
    architecture: str,
    streams: int,
) -> None:
    """Of more prompts than may stay, each nearly as long as may be, one after another and then again."""
    monkeypatch.setattr(mode_memory, "MAX_STATE_BYTES", 1 << 20)  # less than a state of plain attention
    path = tiny_gguf(architecture=architecture)
    fresh = fresh_engines(path, library_dir, readout="letters", mode=mode, streams=streams)
    with caplog.at_level("INFO", logger="semif_adapter.engine.engine"), fresh(context_tokens=4096) as engine:
        [announced] = [
            vars(record)["fields"]["saved_states_bytes"]
            for record in caplog.records
            if record.message == "memory"
        ]
        with most_grown() as grown:
            for letter in "abcdefghabc":
                engine.score([ask(letter * 3700), ask(letter * 3700, 1)], "state-first")
    assert grown.bytes <= announced + BESIDE
