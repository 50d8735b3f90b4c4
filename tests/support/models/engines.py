"""Fixtures: tiny models, and engines on them: real libllama in milliseconds."""

import importlib.util
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, closing
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from bench.models.tiny_encoder import write_tiny_laya
from bench.models.tiny_heads import write_tiny_kev
from bench.models.tiny_models import write_tiny_gguf
from semif_adapter.contract.settings import Settings
from semif_adapter.engine.engine import Engine
from semif_adapter.llama.libllama import Library, open_library


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
def kev_gguf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny model with Kev's head."""
    path = tmp_path_factory.mktemp("kev") / "tiny-kev.gguf"
    write_tiny_kev(path)
    return path


@pytest.fixture(scope="session")
def laya_gguf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny encoder with Laya's head."""
    path = tmp_path_factory.mktemp("laya") / "tiny-laya.gguf"
    write_tiny_laya(path)
    return path


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


def fresh_engines(
    path: Path, library_dir: Path, **settings: Any
) -> Callable[..., AbstractContextManager[Engine]]:
    """Opens engines that nothing was asked yet, closed at the end of their blocks; keywords are settings."""

    def opened(**more: Any) -> AbstractContextManager[Engine]:
        values = {"gguf": path, "library_dir": library_dir, "threads": 1, **settings, **more}
        return closing(Engine.load(Settings(**values)))

    return opened
