"""Fixtures: the embedded model's GGUF, and tiny ones where real weights are not the point."""

import shutil
from collections.abc import Callable
from pathlib import Path

import gguf
import numpy as np
import pytest

from semif.models.presets import load_preset
from semif.models.sources import fetch
from tests.support.models.first_layers import write_first_layers


@pytest.fixture(scope="session")
def embedded_gguf() -> Path:
    """The embedded preset's GGUF (98 MB), verified; downloaded once per machine, into the user's cache."""
    return fetch(load_preset("embedded"))


@pytest.fixture(scope="session")
def short_gguf(embedded_gguf: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The embedded model's first two layers: for what its words and kernels say, and not its answers."""
    path = tmp_path_factory.mktemp("short") / embedded_gguf.name
    write_first_layers(embedded_gguf, path, 2)
    return path


@pytest.fixture
def sound_gguf(tmp_path: Path, tiny_gguf: Callable[..., Path]) -> Path:
    """A tiny model that llama.cpp runs, as `small.gguf` in a folder of the test's own."""
    return shutil.copy(tiny_gguf(), tmp_path / "small.gguf")


@pytest.fixture
def small_gguf(tmp_path: Path) -> Callable[..., Path]:
    """Writes a valid 1 kB GGUF that no engine could run; keywords are metadata (split_count: split.count)."""

    def write(name: str = "small.gguf", architecture: str = "llama", **values: str | int) -> Path:
        writer = gguf.GGUFWriter(tmp_path / name, architecture)
        writer.add_type(str(values.pop("type", "model")))
        for key, value in values.items():
            full_key = key.replace("_", ".", 1)
            if isinstance(value, str):
                writer.add_string(full_key, value)
            else:
                writer.add_uint16(full_key, value)
        writer.add_array("tokenizer.ggml.tokens", ["<s>", "a", "b"])
        writer.add_array("tokenizer.ggml.scores", [0.0, 1.0, 2.0])
        writer.add_tensor("token_embd.weight", np.ones((3, 32), dtype=np.float32))
        writer.add_tensor("output.weight", np.zeros((2, 64), dtype=np.float16))
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        return tmp_path / name

    return write
