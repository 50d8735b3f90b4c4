"""The reference: llama.cpp's own server for decisions, from the library that the adapter runs on too."""

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from semif_adapter.llama.context import BATCH_TOKENS

Ask = Callable[[dict[str, Any]], dict[str, Any]]
"""Sends a System One request; the reply."""


@pytest.fixture(scope="session")
def reference() -> Iterator[Callable[[Path], Ask]]:
    """llama-server on a GGUF, one a file, in this process: its handler of `/v1/systemone`."""
    import xllamacpp  # noqa: PLC0415 - takes a second, and only these tests need it

    servers: list[Any] = []

    @cache
    def ask(path: Path) -> Ask:
        params = xllamacpp.CommonParams()
        params.model.path = str(path)
        params.n_ctx = 4096
        # As our passes; Laya's prompts and Kev's questions must be in one, and are where they are compared.
        params.n_batch = params.n_ubatch = 4096 if path.stem in ("tiny-kev", "tiny-laya") else BATCH_TOKENS
        # Nothing of another prompt is used again by a hybrid model: that would move the last digits.
        params.n_ctx_checkpoints = 0
        params.n_parallel = 1
        params.cpuparams.n_threads = 1
        params.warmup = False
        params.verbosity = -1
        server = xllamacpp.Server(params)
        servers.append(server)
        return server.handle_systemone  # type: ignore[no-any-return]  # the wheel has no types

    yield ask
    servers.clear()
