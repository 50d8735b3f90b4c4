"""The adapter as a process whose log nobody reads, or whose standard files are closed."""

import json
import signal
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from semif_adapter.http.server import EXIT_UNFINISHED
from tests.support.machine.waiting import eventually
from tests.support.servers.adapter_process import Adapter, Document

Start = Callable[..., Adapter]


@pytest.fixture
def unread(start_waiting: Start, decision: Document) -> Adapter:
    """An adapter that has logged more than the pipe and the queue before it hold: 402 lines."""
    adapter = start_waiting(LOG_BYTES="10000")
    adapter.go_on()
    eventually(adapter.ping, lambda status: status == 200)
    for _ in range(400):
        assert adapter.ask({})[0] == 400
    return adapter


def test_a_log_that_nobody_reads_costs_its_lines_and_nothing_else(
    unread: Adapter, decision: Document
) -> None:
    assert unread.ping() == 200
    unread.go_on()
    assert unread.ask({"decision": decision})[0] == 200

    assert unread.process.stderr is not None
    lines = []
    while "were lost" not in (line := json.loads(unread.process.stderr.readline()))["message"]:
        lines.append(line)
    unread.process.send_signal(signal.SIGTERM)
    status, log = unread.end()
    assert status == 0
    assert [line["message"] for line in lines[2:]] == ["request"] * (len(lines) - 2)
    messages = [json.loads(line)["message"] for line in log.splitlines()]
    # The decision's own line is written behind its reply, so that it may come behind the count of the lost.
    late = messages.count("request")
    assert line["message"] == f"{403 - len(lines) - late} lines for standard error were lost"
    assert sorted(messages) == ["request"] * late + ["state: draining"]


def test_a_log_that_nobody_reads_does_not_keep_the_process_from_its_end(unread: Adapter) -> None:
    unread.process.send_signal(signal.SIGTERM)
    assert unread.process.wait(60) == 0


def test_a_log_that_nobody_reads_does_not_keep_a_second_signal_from_its_end(
    unread: Adapter, decision: Document
) -> None:
    with ThreadPoolExecutor() as callers:
        callers.submit(unread.ask, {"decision": decision})
        unread.wait_for_line("waiting")
        unread.process.send_signal(signal.SIGTERM)
        eventually(unread.ping, lambda status: status != 200)
        unread.process.send_signal(signal.SIGTERM)
        assert unread.process.wait(60) == EXIT_UNFINISHED


def test_readers_that_are_gone_end_nothing(
    start: Start, tiny_gguf: Callable[..., Path], library_dir: Path, decision: Document
) -> None:
    model = {"SEMIF_GGUF": str(tiny_gguf()), "SEMIF_LIBRARY_DIR": str(library_dir)}
    adapter = start("-m", "semif_adapter", "serve", SEMIF_METRICS="emf", **model)
    for stream in (adapter.process.stdout, adapter.process.stderr):
        assert stream is not None
        stream.close()
    eventually(adapter.ping, lambda status: status == 200)
    assert adapter.ask({"decision": decision})[0] == 200
    adapter.process.send_signal(signal.SIGTERM)
    assert adapter.process.wait(60) == 0


def closing(files: str) -> tuple[str, str]:
    """The arguments that start `serve` as a shell does that closes `files` before."""
    command = f'exec "$0" -m semif_adapter serve {files}'
    return "-c", f"import os, sys; os.execv('/bin/sh', ['sh', '-c', {command!r}, sys.executable])"


@pytest.mark.parametrize("files", ["<&- >&-", "<&- >&- 2>&-"])
def test_closed_standard_files_are_done_without(
    start: Start, tiny_gguf: Callable[..., Path], library_dir: Path, decision: Document, files: str
) -> None:
    model = {"SEMIF_GGUF": str(tiny_gguf()), "SEMIF_LIBRARY_DIR": str(library_dir)}
    adapter = start(*closing(files), SEMIF_METRICS="emf", **model)
    eventually(adapter.ping, lambda status: status == 200)
    assert adapter.ask({"decision": decision})[0] == 200
    adapter.process.send_signal(signal.SIGTERM)
    status, log = adapter.end()
    assert status == 0
    assert ("state: ready" in log) == ("2>&-" not in files)


def test_a_start_that_fails_has_its_status_without_standard_files_too(start: Start) -> None:
    assert start(*closing(">&- 2>&-"), SEMIF_STREAMS="1").end() == (1, "")
