"""The process that reads prompts with one model.

`python -m bench.quantisations.child FOLDER GGUF THREADS TOKENS` says what it runs on, then for each line on
its standard input what one reading took.
"""

import os
import sys
import time
from contextlib import closing
from pathlib import Path

import numpy as np

from bench.children import say
from bench.engine.measuring.cpu_time import cpu_seconds
from bench.llama_builds.kernels import backend_file, kernel_features
from semif_adapter.contract.errors import StartupError
from semif_adapter.decoding.steps import decode
from semif_adapter.llama.context import BATCH_TOKENS, Context
from semif_adapter.llama.libllama import open_library
from semif_adapter.llama.model import Model

_TEXT = "The parcel came on Tuesday, opened, and one of the two cups in it was broken. "


def main(folder: Path, gguf: Path, threads: int, count: int) -> None:
    """Load, then measure as often as standard input has lines."""
    library = open_library(folder)
    with (
        closing(Model(library, gguf, 0)) as model,
        closing(
            Context(model, streams=1, context_tokens=max(count, BATCH_TOKENS), threads=threads)
        ) as context,
    ):
        tokens = np.resize(model.tokenize(_TEXT, parse_special=False), count)
        decode(context, 0, 0, tokens)  # touches the weights
        say({"build": library.build, "backend": backend_file(), "features": kernel_features()})
        for _ in sys.stdin:
            context.cut(0, 0)
            cpu, wall = cpu_seconds(os.getpid()), time.perf_counter()
            decode(context, 0, 0, tokens)
            say({"wall": time.perf_counter() - wall, "cpu": cpu_seconds(os.getpid()) - cpu})


if __name__ == "__main__":
    try:
        main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
    except StartupError as error:
        sys.exit(f"bench.quantisations: {error}")
