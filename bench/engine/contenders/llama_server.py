"""llama-server as the package `xllamacpp` has it, in a process of its own.

`python -m bench.engine.contenders.llama_server GGUF CONFIGURATION THREADS CONTEXT GPU_LAYERS` prints its
address and serves until its standard input ends.
"""

import subprocess
import sys
from pathlib import Path
from typing import Any

from semif_adapter.contract.wire import ModelInfo

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
    params.hostnames = ["127.0.0.1"]
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


class LlamaServer:
    """The process; `with` it."""

    def __init__(self, gguf: Path, configuration: str, like: ModelInfo) -> None:
        settings = map(str, (gguf, configuration, like.threads, like.context_tokens, like.gpu_layers))
        command = ["-m", "bench.engine.contenders.llama_server", *settings]
        self._process = subprocess.Popen(
            [sys.executable, *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.pid = self._process.pid

    def __enter__(self) -> "LlamaServer":
        assert self._process.stdout is not None
        self.address = self._process.stdout.readline().strip()
        if not self.address:
            raise RuntimeError(f"llama-server did not start (status {self._process.wait()})")
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()


if __name__ == "__main__":
    serve(sys.argv[1], sys.argv[2], *map(int, sys.argv[3:]))
