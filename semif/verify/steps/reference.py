"""The adapter on this machine, on the same model file, to hold an endpoint's numbers against."""

import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import urllib3

from semif.client.client import DecisionClient
from semif.environment.environment import Environment
from semif.errors import SemifError
from semif.serve.local_adapter import adapter_environment
from semif.signals import signals_put_off
from semif.verify.step import SurpriseError

_START_SECONDS = 900.0
_LOOK_SECONDS = 0.2
_END_SECONDS = 60.0
_SAME = ("SEMIF_CONTEXT_TOKENS", "SEMIF_LAYOUT", "SEMIF_READOUT", "SEMIF_STREAMS", "SEMIF_TEMPLATE")
"""The container's variables that this machine takes over: those that say what is computed, not where."""
_SHOWN_BYTES = 2000


@contextmanager
def local_adapter(environment: Environment) -> Iterator[DecisionClient]:
    """A client of the adapter on this machine with the model of `environment`, ended with the block.

    The model is fetched and its SHA-256 verified first. Raises SemifError where it does not come up.
    """
    preset = environment.model.preset
    if preset is None:
        raise SemifError("the model is downloaded by the container; this machine has no file of it")
    port = _free_port()
    variables = adapter_environment(preset, host="127.0.0.1", port=port, progress=lambda *_: None)
    same = {key: value for key, value in environment.container_variables.items() if key in _SAME}
    with tempfile.TemporaryFile() as log, signals_put_off() as let_signals_come:
        process = subprocess.Popen(
            [sys.executable, "-m", "semif.serve", "serve"],
            env={**variables, **same},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
        try:
            let_signals_come()
            _wait_ready(process, port, lambda: _end_of(log.fileno()))
            with DecisionClient(url=f"http://127.0.0.1:{port}") as client:
                yield client
        finally:
            _end(process)


def _wait_ready(process: "subprocess.Popen[bytes]", port: int, last_lines: Callable[[], str]) -> None:
    deadline = time.monotonic() + _START_SECONDS
    pool = urllib3.PoolManager(timeout=5.0, retries=False)
    while process.poll() is None and time.monotonic() < deadline:
        try:
            if pool.request("GET", f"http://127.0.0.1:{port}/ping").status == 200:
                return
        except urllib3.exceptions.HTTPError:  # it does not listen yet
            pass
        time.sleep(_LOOK_SECONDS)
    raise SurpriseError(f"the adapter on this machine did not start: {last_lines()}")


def _end(process: "subprocess.Popen[bytes]") -> None:
    process.terminate()
    try:
        process.wait(_END_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _end_of(handle: int) -> str:
    size = os.fstat(handle).st_size
    return os.pread(handle, _SHOWN_BYTES, max(0, size - _SHOWN_BYTES)).decode(errors="replace")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
