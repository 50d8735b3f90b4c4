"""Tiny models with random weights and real shapes, and engines on them: real libllama in milliseconds."""

import importlib.util
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from bench.random_gguf import CHATML, Recurrent, Shape, byte_vocabulary, write_model
from semif_adapter.engine import Engine
from semif_adapter.libllama import Library, open_library
from semif_adapter.settings import Settings

LAYERS, WIDTH = 2, 64
WINDOW = 24  # tokens that an attention layer with a sliding window sees

_TINY = Shape("qwen3", LAYERS, WIDTH, 128, 4, 2, 32, context=4096, rope_base=1e6, ties_embeddings=False)
SHAPES = {
    "qwen3": _TINY,
    "gemma3": replace(_TINY, architecture="gemma3", window=WINDOW),
    "qwen35": replace(
        _TINY,
        architecture="qwen35",
        recurrent=Recurrent(
            state=16, rank=4, groups=2, interval=LAYERS, rope_dimensions=16, rope_sections=(3, 3, 2, 0)
        ),
    ),
}


class _Plain:
    """F32 matrices; the embedding of the character `spoiled` is NaN."""

    file_type = 0

    def __init__(self, spoiled: str | None) -> None:
        self._random = np.random.default_rng(0)
        self._spoiled = spoiled

    def matrix(self, name: str, rows: int, columns: int) -> tuple[npt.NDArray[np.float32], None]:
        spread = np.float32(0.04 if name == "output.weight" else 0.1)
        weights = self._random.standard_normal((rows, columns), dtype=np.float32) * spread
        if self._spoiled is not None and name == "token_embd.weight":
            weights[ord(self._spoiled)] = np.nan
        return weights, None


def write_tiny_gguf(
    path: Path,
    *,
    architecture: str = "qwen3",
    template: str | None = CHATML,
    add_bos: bool = False,
    spoiled: str | None = None,
    split_tensors: int = 0,
) -> None:
    """A random F32 model with a byte vocabulary, 2 layers: `qwen3` (attention), `gemma3` (sliding
    window), `qwen35` (hybrid).

    `spoiled` is a character whose embedding is NaN, so that every prompt holding it has NaN logits. With
    `split_tensors` the model becomes parts of so many tensors, named after `path`.
    """
    write_model(
        path,
        SHAPES[architecture],
        byte_vocabulary(),
        _Plain(spoiled),
        name=f"tiny-{architecture}",
        template=template,
        add_bos=add_bos,
        split_tensors=split_tensors,
    )


@pytest.fixture(scope="session")
def library_dir() -> Path:
    """The folder of a prebuilt libllama; its Python module is not imported."""
    spec = importlib.util.find_spec("xllamacpp")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent


@pytest.fixture(scope="session")
def library(library_dir: Path) -> Library:
    """libllama, opened."""
    return open_library(library_dir)


@pytest.fixture(scope="session")
def tiny_gguf(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Writes a tiny GGUF (keywords of `write_tiny_gguf`), each kind once."""
    folder = tmp_path_factory.mktemp("gguf")
    numbers = count()

    @cache
    def write(**kind: Any) -> Path:
        path = folder / f"tiny-{next(numbers)}.gguf"
        write_tiny_gguf(path, **kind)
        return path if path.exists() else min(folder.glob(f"{path.stem}-*.gguf"))

    return write


@pytest.fixture(scope="session")
def load_engine(library_dir: Path) -> Iterator[Callable[..., Engine]]:
    """Loads an engine on a GGUF, each kind once; keywords are settings. One thread, and a short context."""
    with ExitStack() as stack:

        @cache
        def load(path: Path, **settings: Any) -> Engine:
            values = {
                "gguf": path,
                "library_dir": library_dir,
                "threads": 1,
                "context_tokens": 512,
                **settings,
            }
            engine = Engine.load(Settings(**values))
            stack.callback(engine.close)
            return engine

        yield load
