"""What is left of a check that was given up before a thread came to it."""

import gzip
import json
import threading
import tracemalloc
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import pytest

from semif_adapter.serving.checkers import CHECKERS, LONG_BODY_BYTES
from tests.support.machine.waiting import eventually

Document = dict[str, Any]
LEAVING = 8


@pytest.mark.parametrize(
    ("size", "threads", "encoding"),
    [(LONG_BODY_BYTES - 1_000, CHECKERS, "identity"), (4 * LONG_BODY_BYTES, 1, "gzip")],
    ids=["short", "long"],
)
def test_its_document_is_gone_as_its_memory_counts_as_free(
    start_server: Callable[..., Any],
    scripted: Any,
    decision: Document,
    size: int,
    threads: int,
    encoding: str,
) -> None:
    """Each kept its document until the checks before it ended, at 4 MB for a small body of gzip."""
    checking, go_on = threading.Semaphore(0), threading.Event()

    def tokenize(_: Any) -> None:
        checking.release()
        assert go_on.wait(30)

    server = start_server(scripted(tokenize=tokenize))
    memory, admission = server.queue.memory.documents, server.queue.admission
    request = _post(decision | {"state": "x" * size}, encoding)

    def send_and_leave() -> None:
        before = memory.held
        connection = server.connect()
        connection.request("POST", "/invocations", *request)
        eventually(lambda: memory.held - before > 16 * size)  # it waits for its check
        connection.close()
        eventually(lambda: (memory.held, admission.requests), lambda held: held == (before, threads))

    with ExitStack() as busy:
        for _ in range(threads):
            connection = server.connect()
            busy.callback(connection.close)
            connection.request("POST", "/invocations", *request)
            assert checking.acquire(timeout=30)
        send_and_leave()
        tracemalloc.start()
        busy.callback(tracemalloc.stop)
        for _ in range(LEAVING):
            send_and_leave()
        kept, _ = tracemalloc.get_traced_memory()
        go_on.set()
    assert kept < size


def _post(decision: Document, encoding: str) -> tuple[bytes, dict[str, str]]:
    body = json.dumps({"decision": decision}).encode()
    headers = {"content-type": "application/json", "content-encoding": encoding}
    return gzip.compress(body) if encoding == "gzip" else body, headers
