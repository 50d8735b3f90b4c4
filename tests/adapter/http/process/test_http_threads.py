"""The adapter as a process that may have few threads: it says so at its start, or needs no more for good."""

from collections.abc import Callable

import pytest

from semif.project.root import project_root
from semif_adapter.http.start import EXIT_FAILED
from tests.support.machine.waiting import eventually
from tests.support.servers.adapter_process import Adapter, Document

FEW_THREADS = """
import re, resource, sys, threading
from pathlib import Path
from semif_adapter.http.server import serve
from semif_adapter.http.start import start
from tests.support.models.scripted_engine import ScriptedEngine

STACK = 512 << 20
threading.stack_size(STACK)
taken = int(re.search(r"VmSize:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1]) * 1024
room = taken + int(sys.argv[1]) * STACK + STACK // 2
resource.setrlimit(resource.RLIMIT_AS, (room, room))
start([], lambda settings: serve(settings, ScriptedEngine))
"""
"""Stacks so large that the address space has room for those of as many threads as its argument says."""
THREADS = 6
"""Two outputs, three checkers and the engine."""


@pytest.fixture
def start_with(start: Callable[..., Adapter]) -> Callable[[int], Adapter]:
    def start_one(threads: int) -> Adapter:
        program = ("-c", FEW_THREADS, str(threads))
        return start(*program, PYTHONPATH=str(project_root()), MALLOC_ARENA_MAX="1", SEMIF_METRICS="emf")

    return start_one


@pytest.mark.parametrize("threads", range(THREADS))
def test_without_room_for_its_threads_it_does_not_start_and_says_so(
    start_with: Callable[[int], Adapter], threads: int
) -> None:
    """It ended with a status of uvicorn's and without a reason, or never."""
    status, log = start_with(threads).end()
    assert status == EXIT_FAILED
    assert log.splitlines()[-1].startswith("semif_adapter: cannot start: there is no room for a thread")
    assert "Traceback" not in log


def test_nothing_that_it_is_asked_needs_another_thread(
    start_with: Callable[[int], Adapter], decision: Document
) -> None:
    adapter = start_with(THREADS)
    eventually(adapter.ping, lambda status: status == 200)
    assert adapter.ask({"decision": decision})[0] == 200
    assert adapter.request("GET", "/openapi.json")[0] == 200
    assert "semif_decisions_total 1" in adapter.metrics()
    adapter.process.terminate()
    status, log = adapter.end()
    assert status == 0
    assert "exception" not in log
