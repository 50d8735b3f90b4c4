"""MiniStack, an emulator of AWS: installed in a virtual environment of its own, started and ended."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import urllib3

from semif.errors import SemifError
from semif.models.sources.cache import cache_root, sole_writer

REQUIREMENTS = Path(__file__).with_name("requirements.txt")
_INSTALL_SECONDS, _START_SECONDS = 300, 60


def version() -> str:
    """The pinned one, e.g. `1.5.33`."""
    (line,) = [line for line in REQUIREMENTS.read_text().splitlines() if line.startswith("ministack==")]
    return line.removeprefix("ministack==").split()[0]


@contextmanager
def emulator() -> Iterator[str]:
    """The address of a fresh one, ended with the block. Raises SemifError where it cannot be had."""
    python, port = _installed(), _free_port()
    url = f"http://127.0.0.1:{port}"
    with TemporaryDirectory(prefix="second-emulator-") as folder, (Path(folder) / "log").open("w+b") as log:
        process = subprocess.Popen(
            [str(python.with_name("ministack"))],
            cwd=folder,
            env={
                **_environment(),
                "BIND_HOST": "127.0.0.1",
                "GATEWAY_PORT": str(port),
                "TMPDIR": folder,
                "HOME": folder,
            },
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
        try:
            _wait_until_it_answers(process, url)
            yield url
        finally:
            process.terminate()
            process.wait(30)


def _installed() -> Path:
    """The interpreter of the virtual environment that holds it."""
    folder = cache_root() / "second-emulator" / version()
    python = folder / "venv" / "bin" / "python"
    with sole_writer(folder):
        if not (folder / "whole").exists():
            install = [str(python), "-m", "pip", "install", "--quiet", "--no-input", "--require-hashes"]
            install += ["--disable-pip-version-check", "--only-binary", ":all:", "-r", str(REQUIREMENTS)]
            for command in ([sys.executable, "-m", "venv", "--clear", str(folder / "venv")], install):
                done = subprocess.run(
                    command, capture_output=True, text=True, timeout=_INSTALL_SECONDS, check=False
                )
                if done.returncode:
                    raise SemifError(f"MiniStack could not be installed: {done.stderr.strip()[-500:]}")
            (folder / "whole").touch()
    return python


def _environment() -> dict[str, str]:
    """Nothing of the caller's AWS."""
    return {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}


def _wait_until_it_answers(process: "subprocess.Popen[bytes]", url: str) -> None:
    deadline, pool = time.monotonic() + _START_SECONDS, urllib3.PoolManager(retries=False)
    while time.monotonic() < deadline and process.poll() is None:
        try:
            if pool.request("GET", f"{url}/_localstack/health").status == 200:
                return
        except urllib3.exceptions.HTTPError:  # it does not listen yet
            pass
        time.sleep(0.1)
    raise SemifError(f"MiniStack {version()} did not answer within {_START_SECONDS} s")


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])
