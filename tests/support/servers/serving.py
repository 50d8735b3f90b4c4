"""`semif serve` as a person starts it, for tests that ask it over HTTP."""

import contextlib
import http.client
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.checkout import REPOSITORY, pin_model
from tests.support.machine.waiting import eventually

SEMIF = [sys.executable, "-m", "semif"]


@contextmanager
def serving(log: Path, *options: str, model: str = "embedded", **variables: str) -> Iterator[str]:
    """Its URL, once it is ready. What it says goes to `log`; a clean end on SIGTERM is part of the deal."""
    port = free_port()
    server = start(port, log, *options, model=model, **variables)
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.send_signal(signal.SIGTERM)
        status = server.wait(60)
    assert status == 0, log.read_text()


def start(
    port: int, log: Path, *options: str, model: str = "embedded", **variables: str
) -> "subprocess.Popen[bytes]":
    """Its process, once it is ready."""
    with log.open("wb") as output:
        server = subprocess.Popen(
            [*SEMIF, "serve", model, "--port", str(port), *options],
            # One thread: those of an engine spin for each other, which takes the time of whatever else runs.
            env=os.environ | {"SEMIF_STREAMS": "2", "SEMIF_THREADS": "1"} | variables,
            stdout=output,
            stderr=subprocess.STDOUT,
        )

    def ready() -> bool:
        assert server.poll() is None, log.read_text()
        return is_ready(port)

    try:
        eventually(ready)
    except BaseException:
        server.kill()
        server.wait()
        raise
    return server


def free_port() -> int:
    """A port of this machine that nobody listens on.

    It is below those that the kernel deals out: no other test's connection takes it before the server.
    """
    while True:
        port = random.randrange(20_000, 32_000)
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
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


@pytest.fixture(scope="session")
def adapter_url(tiny_gguf: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """An adapter as a person would serve it, with the page, on a tiny model: for all but what weights say."""
    with with_page(
        tmp_path_factory.mktemp("serve") / "log", str(tiny_gguf()), SEMIF_READOUT="text"
    ) as served:
        yield served


@pytest.fixture(scope="session")
def embedded_url(embedded_gguf: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The same on the embedded model, for what its answers are."""
    with with_page(tmp_path_factory.mktemp("serve") / "log", "embedded") as served:
        yield served


@pytest.fixture(scope="session")
def short_url(short_gguf: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The same on the preset `embedded`, its model of two layers: all of it but what its answers are."""
    folder = tmp_path_factory.mktemp("serve")
    shutil.copytree(REPOSITORY / "models", folder / "models")
    pin_model(folder, "embedded", short_gguf)
    with with_page(folder / "log", "embedded", project=folder) as served:
        yield served


@contextmanager
def with_page(log: Path, model: str, project: Path = REPOSITORY, **variables: str) -> Iterator[str]:
    """`serving` with the page; what it tells whoever starts it is checked."""
    # SEMIF_PROJECT is the toolkit's own; the adapter refuses what it does not know and never sees it.
    with serving(log, "--ui", model=model, SEMIF_PROJECT=str(project), **variables) as served:
        yield served
    told = log.read_text()
    assert f"semif decide --url {served}" in told
    assert f"the page to try it: {served}/" in told
