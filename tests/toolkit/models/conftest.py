"""A hub on this machine, and a project's folder of presets to pin into."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from semif.cli import main
from semif.project.root import PROJECT_VARIABLE
from tests.support.models.hub_api import FILE, SHA256, HubApi
from tests.support.servers.running import running


@pytest.fixture(scope="module")
def plain(tiny_gguf: Callable[..., Path]) -> bytes:
    """A model without a decision head."""
    return tiny_gguf().read_bytes()


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, plain: bytes) -> Iterator[HubApi]:
    for name in ("HF_TOKEN", "http_proxy", "HTTP_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with running(HubApi(plain)) as server:
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.server_port}/")
        yield server


@pytest.fixture
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The models/ of a project of its own, with a preset of another model."""
    folder = tmp_path / "models"
    folder.mkdir()
    (folder / "other.toml").write_text(
        f"""
description = "another"
license = "MIT"
quantization = "F16"
[model]
source = "s3://bucket/other.gguf"
file = "other.gguf"
bytes = 12
sha256 = "{SHA256}"
[prompt]
readout = "text"
"""
    )
    monkeypatch.setenv(PROJECT_VARIABLE, str(tmp_path))
    return folder


@pytest.fixture
def pin(hub: HubApi, models: Path) -> Callable[..., Result]:
    def run(model: str = "hf:owner/repo", file: str = FILE, *options: str) -> Result:
        return CliRunner().invoke(main, ["model", "pin", model, file, *options])

    return run
