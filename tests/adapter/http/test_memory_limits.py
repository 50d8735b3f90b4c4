"""A real adapter with little memory: it says so at its start, or refuses what it has no room for."""

import json
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from semif_adapter.http.start import EXIT_FAILED
from tests.support.servers.adapter_process import Adapter

LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[1]),) * 2)
sys.argv = ["semif_adapter", "serve"]
from semif_adapter.__main__ import main
main()
"""
MB = 1_000_000
CLIENTS = 24


@pytest.fixture
def start_limited(
    start: Callable[..., Adapter], tiny_gguf: Callable[..., Path], library_dir: Path
) -> Callable[[int], Adapter]:
    """Start adapters with so much address space beside what one with a loaded model takes."""
    variables = {
        "SEMIF_GGUF": str(tiny_gguf()),
        "SEMIF_LIBRARY_DIR": str(library_dir),
        "SEMIF_MODE": "batched",  # without room for saved beginnings
        "SEMIF_CONTEXT_TOKENS": "512",
        "SEMIF_THREADS": "1",
    }
    unlimited = start("-m", "semif_adapter", **variables)
    unlimited.wait_ready()
    status = Path(f"/proc/{unlimited.process.pid}/status").read_text()
    size = re.search(r"VmSize:\s+(\d+) kB", status)
    assert size is not None
    taken = int(size[1]) * 1024
    unlimited.process.kill()
    return lambda beside: start("-c", LIMITED, str(taken + beside), **variables)


def test_with_little_memory_it_does_not_start_or_refuses_what_is_large(
    start_limited: Callable[[int], Adapter], decision: dict[str, Any]
) -> None:
    """Once it took all requests there were, and their connections broke."""
    status, log = start_limited(6 * MB).end()
    assert status == EXIT_FAILED
    assert "cannot start: not enough memory: beside the loaded model" in log.splitlines()[-1]

    adapter = start_limited(200 * MB)
    adapter.wait_ready()
    large = {"decision": decision | {"state": "all is well " * 330_000}}
    with ThreadPoolExecutor(CLIENTS) as clients:
        replies = [clients.submit(adapter.ask, large) for _ in range(CLIENTS)]
        pings = {adapter.ping() for _ in range(20)}
        statuses = {reply.result()[0] for reply in replies}
    assert pings == {200}
    assert statuses <= {400, 503}
    assert adapter.ask({"decision": decision})[0] == 200
    adapter.process.terminate()
    status, log = adapter.end()
    assert status == 0
    assert all("exception" not in json.loads(line) for line in log.splitlines())
