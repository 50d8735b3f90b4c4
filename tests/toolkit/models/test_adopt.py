"""`semif model adopt`: another project's archive in place of a download."""

import io
import json
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from semif.cli import main
from tests.support.models.small_models import pin_of

PRESET = """
description = "a small file"
license = "MIT"
quantization = "F32"
[model]
source = "hf://owner/repo"
revision = "{commit}"
file = "small.gguf"
bytes = {bytes}
sha256 = "{sha256}"
[prompt]
readout = "text"
"""


@pytest.fixture
def gguf(sound_gguf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A model that the project's one preset pins at a hub, which nobody can reach here."""
    file = sound_gguf
    pin = pin_of(file)
    (tmp_path / "models").mkdir()
    text = PRESET.format(commit="a" * 40, bytes=pin.bytes, sha256=pin.sha256)
    (tmp_path / "models" / "small.toml").write_text(text)
    monkeypatch.setenv("SEMIF_PROJECT", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return file


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, list(map(str, arguments)), prog_name="semif")


def samples_archive(target: Path, *models: tuple[str, bytes]) -> Path:
    """As AWS's sample packs it: its own manifest, the GGUF, a folder with the tokenizer."""
    with tarfile.open(target, "w:gz") as archive:
        for name, content in (*models, ("model-manifest.json", b"{}"), ("tokenizer/tokenizer.json", b"{}")):
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return target


def test_what_was_adopted_is_packed_without_a_download(gguf: Path, tmp_path: Path) -> None:
    archive = samples_archive(tmp_path / "model.tar.gz", ("Published-Name.gguf", gguf.read_bytes()))

    adopted = run("model", "adopt", archive, "--json")

    assert adopted.exit_code == 0, adopted.stderr
    document = json.loads(adopted.stdout)
    assert document["preset"] == "small"
    assert Path(document["path"]).read_bytes() == gguf.read_bytes()
    built = run("model", "build", "small", "--output", tmp_path / "out")
    assert built.exit_code == 0, built.stderr
    with tarfile.open(tmp_path / "out" / "model.tar.gz") as packed:
        assert packed.getnames() == ["model-manifest.json", "small.gguf"]
    assert "semif model build small --output" in run("model", "adopt", archive).stdout


@pytest.mark.parametrize(
    ("models", "said"),
    [
        ([], "holds no .gguf"),
        ([("a.gguf", b"1"), ("b.gguf", b"2")], "holds more than one GGUF: 'a.gguf', 'b.gguf'"),
        ([("a.gguf", b"1")], "no preset pins 'a.gguf' with SHA-256 6b86b273"),
    ],
)
def test_what_no_preset_pins_is_not_taken(
    gguf: Path, tmp_path: Path, models: list[tuple[str, bytes]], said: str
) -> None:
    result = run("model", "adopt", samples_archive(tmp_path / "model.tar.gz", *models))
    assert result.exit_code == 1
    assert said in result.stderr
    assert gguf.is_file()
    assert not [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]


@pytest.mark.parametrize("damage", [lambda content: content[: len(content) // 2], lambda _: b"no archive"])
def test_a_damaged_archive_is_one_line(gguf: Path, tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
    archive = samples_archive(tmp_path / "model.tar.gz", ("small.gguf", gguf.read_bytes()))
    archive.write_bytes(damage(archive.read_bytes()))
    result = run("model", "adopt", archive)
    assert result.exit_code == 1
    assert "is no whole archive" in result.stderr
    assert result.stderr.count("\n") == 1
    assert "cannot be taken over: no such file" in run("model", "adopt", tmp_path / "none").stderr
