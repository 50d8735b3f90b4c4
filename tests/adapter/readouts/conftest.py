"""The reference: llama.cpp's own server for decisions, from the library that the adapter runs on too."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from semif_adapter.llama.context import BATCH_TOKENS

Ask = Callable[[dict[str, Any]], dict[str, Any]]
"""Sends a System One request; the reply."""
REPLY = "reply: "
"""What its replies begin with."""
SCRIPT = Path(__file__).with_name("reference_server.py")


@pytest.fixture(scope="session")
def reference() -> Iterator[Callable[[Path], Ask]]:
    """llama-server on a GGUF, one a file."""
    with ExitStack() as stack:

        @cache
        def start(path: Path) -> Ask:
            # As our passes; Laya's prompts and Kev's questions must be in one, and are where compared.
            most = 4096 if path.stem in ("tiny-kev", "tiny-laya") else BATCH_TOKENS
            process = stack.enter_context(
                subprocess.Popen(
                    [sys.executable, str(SCRIPT), str(path), str(most)],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    text=True,
                )
            )
            stack.callback(process.kill)
            return lambda request: ask(process, request)

        yield start


def ask(process: "subprocess.Popen[str]", request: dict[str, Any]) -> dict[str, Any]:
    """The reply of the reference in `process`, whose library may write lines of its own."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps(request) + "\n")
    process.stdin.flush()
    for line in process.stdout:
        if line.startswith(REPLY):
            reply: dict[str, Any] = json.loads(line.removeprefix(REPLY))
            return reply
    raise AssertionError("the reference ended")
