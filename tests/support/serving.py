"""`semif serve embedded` as a person starts it, for tests that ask it over HTTP."""

import http.client
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SEMIF = [sys.executable, "-m", "semif"]


@contextmanager
def serving(log: Path, *options: str, **variables: str) -> Iterator[str]:
    """Its URL, once it is ready. What it says goes to `log`; a clean end on SIGTERM is part of the deal."""
    port = free_port()
    server = start(port, log, *options, **variables)
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.send_signal(signal.SIGTERM)
        status = server.wait(60)
    assert status == 0, log.read_text()


def start(port: int, log: Path, *options: str, **variables: str) -> "subprocess.Popen[bytes]":
    """Its process, once it is ready."""
    with log.open("wb") as output:
        server = subprocess.Popen(
            [*SEMIF, "serve", "embedded", "--port", str(port), *options],
            env=os.environ | {"SEMIF_STREAMS": "2"} | variables,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    while not is_ready(port):
        assert server.poll() is None, log.read_text()
        time.sleep(0.05)
    return server


def free_port() -> int:
    """A port of this machine that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port: int = probe.getsockname()[1]
        return port


def is_ready(port: int) -> bool:
    """Whether a ping is answered with 200."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", "/ping")
        return connection.getresponse().status == 200
    except OSError:
        return False
    finally:
        connection.close()
