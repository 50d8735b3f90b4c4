"""What all tests share: the embedded model, and tiny GGUFs where real weights are not the point."""

import runpy
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import gguf
import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from semif.environment.environment import Environment, read_environment
from semif.lock.lock_file import Lock
from semif.models.presets import load_preset
from semif.models.sources import fetch

ROOT = Path(__file__).resolve().parents[1]

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytest_plugins = ("tests.support.local_aws",)

# How long an example takes on a busy machine says nothing about the code.
settings.register_profile("semif", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("semif")


@pytest.fixture(scope="session")
def embedded_gguf() -> Path:
    """The embedded preset's GGUF (98 MB), verified; downloaded once per machine, into the user's cache."""
    return fetch(load_preset("embedded"))


@pytest.fixture(scope="module")
def browser() -> "Iterator[Browser]":
    """A headless Chromium, for `tests.support.browser.looking`; tests are skipped where there is none."""
    from tests.support.browser import chromium  # noqa: PLC0415 - few tests look at a page

    with chromium() as opened:
        yield opened


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


@pytest.fixture(scope="session")
def root() -> Path:
    return ROOT


@pytest.fixture(scope="session")
def example_lock() -> Callable[[Environment], Lock]:
    found: Callable[[Environment], Lock] = runpy.run_path(str(ROOT / "tests" / "infra" / "example_locks.py"))[
        "example_lock"
    ]
    return found


@pytest.fixture
def environment_of(tmp_path: Path) -> Callable[..., Environment]:
    """An environment from the text of a file."""

    def read(text: str, name: str = "test") -> Environment:
        path = tmp_path / f"{name}.toml"
        path.write_text(text)
        return read_environment(path)

    return read
