"""Lines on their way to somebody who may not be reading."""

import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from semif_adapter.serving import line_writer
from semif_adapter.serving.line_writer import LineWriter
from tests.support.machine.waiting import eventually

LOGGER = "semif_adapter.serving.line_writer"


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    """The reading and the writing end."""
    ends = os.pipe()
    yield ends
    for end in ends:
        os.close(end)


@pytest.fixture
def failing() -> Iterator[int]:
    """An output that is full."""
    descriptor = os.open("/dev/full", os.O_WRONLY)
    yield descriptor
    os.close(descriptor)


def lines_until(descriptor: int, last: str) -> list[str]:
    """What there is to read, up to and with the line `last`."""
    data = b""
    while not data.endswith(f"{last}\n".encode()):
        data += os.read(descriptor, 65_536)
    return data.decode().splitlines()


def test_lines_come_out_whole_and_in_order(pipe: tuple[int, int]) -> None:
    reading, writing = pipe
    writer = LineWriter(writing, "the pipe")
    for line in ("one", "zwei ü", "a surrogate \ud800", "x" * 100_000, "last"):
        writer.write(line)
    lines = lines_until(reading, "last")
    assert lines == ["one", "zwei ü", "a surrogate \\ud800", "x" * 100_000, "last"]


def test_nobody_waits_for_a_reader_that_stalls_and_the_gap_is_told_once(
    pipe: tuple[int, int], caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(line_writer, "FLUSH_SECONDS", 0.01)
    reading, writing = pipe
    writer = LineWriter(writing, "the pipe")
    sent = [f"{number:0999}" for number in range(3 * line_writer.MOST_BYTES // 1000)]
    for line in sent:
        writer.write(line)
    writer.flush()  # returns all the same
    assert caplog.messages == []

    with ThreadPoolExecutor() as readers:
        reading_on = readers.submit(lines_until, reading, "after the gap")
        eventually(lambda: caplog.messages)
        writer.write("after the gap")
        *kept, _ = reading_on.result()
    assert kept == sent[: len(kept)]
    assert line_writer.MOST_BYTES <= (len(kept) + 1) * 1000 < len(sent) * 1000
    assert caplog.messages == [f"{len(sent) - len(kept)} lines for the pipe were lost"]


def test_an_output_that_fails_is_told_once_and_tried_until_it_works(
    pipe: tuple[int, int], failing: int, caplog: pytest.LogCaptureFixture
) -> None:
    reading, writing = pipe
    writer = LineWriter(failing, "the disk")
    writer.write("one")
    writer.write("two")
    writer.flush()
    assert eventually(lambda: caplog.messages) == [
        "the disk failed, its lines are lost: No space left on device"
    ]
    os.dup2(writing, failing)
    writer.write("three")
    writer.flush()
    assert os.read(reading, 1000) == b"three\n"
    assert caplog.messages[1:] == ["2 lines for the disk were lost"]


def test_the_log_tells_of_a_gap_in_itself(pipe: tuple[int, int], failing: int) -> None:
    reading, writing = pipe
    writer = LineWriter(failing, "the log")

    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            writer.write(record.getMessage())

    handler = Handler()
    logging.getLogger(LOGGER).addHandler(handler)
    try:
        writer.write("one")
        writer.flush()
        os.dup2(writing, failing)
        writer.write("two")
        writer.flush()
    finally:
        logging.getLogger(LOGGER).removeHandler(handler)
    *_, last = os.read(reading, 1000).decode().splitlines()
    assert last in ("1 lines for the log were lost", "2 lines for the log were lost")


def test_standard_files_that_are_closed_are_taken(tmp_path: Path) -> None:
    """In a process of its own: what is opened next must not get one of their numbers."""
    found = tmp_path / "found"
    program = (
        "import os; from semif_adapter.serving.line_writer import open_standard_files\n"
        "for number in (0, 1, 2): os.close(number)\n"
        "open_standard_files()\n"
        f"open({str(found)!r}, 'w').write(str(os.open(os.devnull, 0)))"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
    assert int(found.read_text()) > 2
