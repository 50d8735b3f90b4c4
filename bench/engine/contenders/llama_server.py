"""llama-server in a process of its own: the program of a llama.cpp build, or what `xllamacpp` has of it.

`python -m bench.engine.contenders.llama_server GGUF CONFIGURATION THREADS CONTEXT GPU_LAYERS` prints its
address and serves until its standard input ends.
"""

import http.client
import os
import socket
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

from semif_adapter.contract.wire import ModelInfo

HOST = "127.0.0.1"

CONFIGURATIONS: dict[str, dict[str, Any]] = {
    # What the program llama-server makes of its own default, `--parallel -1`.
    "default": {"n_parallel": 4, "kv_unified": True},
    # One slot keeps the longest common prefix of one question and the next, in a cache that can be cut.
    "best": {"n_parallel": 1, "swa_full": True, "cache_prompt": True},
}


def serve(gguf: str, configuration: str, threads: int, context: int, gpu_layers: int) -> None:
    """Load, print the address, serve until standard input ends. `context` is for one prompt, in tokens."""
    import xllamacpp  # noqa: PLC0415 - only here: it opens a libllama of its own

    params = xllamacpp.CommonParams()
    params.model.path = gguf
    params.hostnames = [HOST]
    params.port = 0
    params.verbosity = 0
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
    params.n_gpu_layers = gpu_layers
    params.fit_params = False
    params.ui = False
    for name, value in CONFIGURATIONS[configuration].items():
        setattr(params, name, value)
    params.n_ctx = context * params.n_parallel
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    sys.stdin.read()
    del server


FLAGS = {
    "default": ("--parallel", "4", "--kv-unified"),
    "best": ("--parallel", "1", "--swa-full"),
}
"""CONFIGURATIONS as the program takes them; a prompt's cache is its default."""
ALL_LAYERS = 999


def program_command(program: Path, gguf: Path, configuration: str, like: ModelInfo, port: int) -> list[str]:
    """How the program is started with the settings that `serve` gives the package's."""
    flags = FLAGS[configuration]
    layers = ALL_LAYERS if like.gpu_layers < 0 else like.gpu_layers
    settings = {
        "--model": gguf,
        "--host": HOST,
        "--port": port,
        "--threads": like.threads,
        "--threads-batch": like.threads,
        "--gpu-layers": layers,
        "--ctx-size": like.context_tokens * int(flags[1]),
    }
    return [str(program), *(str(part) for pair in settings.items() for part in pair), *flags]


class LlamaServer:
    """The process; `with` it."""

    def __init__(self, gguf: Path, configuration: str, like: ModelInfo, program: Path | None = None) -> None:
        self._port = 0
        if program is not None:
            with socket.create_server((HOST, 0)) as free:
                self._port = free.getsockname()[1]
            command = program_command(program, gguf, configuration, like, self._port)
        else:
            settings = map(str, (gguf, configuration, like.threads, like.context_tokens, like.gpu_layers))
            command = [sys.executable, "-m", "bench.engine.contenders.llama_server", *settings]
        libraries = {} if program is None else {"LD_LIBRARY_PATH": str(program.parent)}
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL if program else subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=os.environ | libraries,
        )
        self.pid = self._process.pid

    def __enter__(self) -> "LlamaServer":
        if self._process.stdout is None:
            self.address = f"http://{HOST}:{self._port}"
            while self._process.poll() is None and not self._is_healthy():
                time.sleep(0.1)
            started = self._process.poll() is None
        else:
            self.address = self._process.stdout.readline().strip()
            started = bool(self.address)
        if not started:
            raise RuntimeError(f"llama-server did not start (status {self._process.wait()})")
        return self

    def _is_healthy(self) -> bool:
        with closing(http.client.HTTPConnection(HOST, self._port, timeout=5)) as connection:
            try:
                connection.request("GET", "/health")
                return connection.getresponse().status == 200
            except OSError:
                return False

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()


if __name__ == "__main__":
    serve(sys.argv[1], sys.argv[2], *map(int, sys.argv[3:]))
