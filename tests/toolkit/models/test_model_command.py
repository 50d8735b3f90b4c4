"""`semif model`: what people type and read."""

import hashlib
import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from semif.cli import COMMANDS, main
from tests.support.machine.small_disk import small_disk
from tests.support.models.small_models import pin_of

Make = Callable[..., Path]


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments, prog_name="semif")


@pytest.fixture
def project(tmp_path: Path, sound_gguf: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    gguf = sound_gguf
    pin = pin_of(gguf)
    (tmp_path / "models").mkdir()
    text = f"""
description = "a small file"
license = "MIT"
quantization = "F32"
[model]
source = "file:{gguf.name}"
file = "{gguf.name}"
bytes = {pin.bytes}
sha256 = "{pin.sha256}"
[prompt]
readout = "text"
"""
    (tmp_path / "models" / "small.toml").write_text(text)
    (tmp_path / "models" / "wrong.toml").write_text(text.replace(pin.sha256, "0" * 64))
    monkeypatch.setenv("SEMIF_PROJECT", str(tmp_path))
    return tmp_path


def test_json_is_one_object_on_stdout(project: Path) -> None:
    out = project / "out"
    result = run("model", "build", "small", "--output", str(out), "--json")
    assert result.exit_code == 0
    built = json.loads(result.stdout)
    archive, manifest = (out / "model.tar.gz").read_bytes(), (out / "model-manifest.json").read_bytes()
    assert built == {
        "preset": "small",
        "manifest_sha256": hashlib.sha256(manifest).hexdigest(),
        "archive_sha256": hashlib.sha256(archive).hexdigest(),
        "archive_bytes": len(archive),
        "path": str(out / "model.tar.gz"),
        "format": "tar.gz",
    }
    assert [line.split(":")[0] for line in result.stderr.splitlines()] == ["verify", "pack"]


def test_people_get_the_place_and_both_hashes(project: Path) -> None:
    result = run("model", "build", "small", "--output", str(project / "out"))
    assert result.exit_code == 0
    assert "model.tar.gz" in result.stdout
    assert hashlib.sha256((project / "out" / "model.tar.gz").read_bytes()).hexdigest() in result.stdout


@pytest.mark.parametrize(
    ("preset", "told"), [("wrong", f"pinned are .* SHA-256 {'0' * 64}"), ("none", "known are small, wrong")]
)
def test_failures_are_one_line_and_leave_nothing(project: Path, preset: str, told: str) -> None:
    result = run("model", "build", preset, "--output", str(project / "out"), "--json")
    assert result.exit_code == 1
    assert result.stdout == ""
    (line,) = [line for line in result.stderr.splitlines() if line.startswith("semif: ")]
    assert re.search(told, line)
    assert "Traceback" not in result.stderr
    assert not (project / "out").exists()


@pytest.mark.parametrize(
    ("output", "told"),
    [
        ("models/small.toml", "models/small.toml is a file or lies in one, a folder is needed"),
        ("models/small.toml/below", "models/small.toml/below is a file or lies in one, a folder is needed"),
        ("", "'' is no place for a model"),
    ],
)
def test_an_output_that_cannot_be_a_folder_is_told(project: Path, output: str, told: str) -> None:
    result = run("model", "build", "small", "--output", str(project / output) if output else "")
    assert result.exit_code == 1
    assert told in result.stderr


def test_a_full_disk_names_the_file_that_could_not_be_written(project: Path) -> None:
    with small_disk(1000):
        result = run("model", "build", "small", "--output", str(project / "out"))
    assert result.exit_code == 1
    assert f"semif: cannot write {project / 'out' / 'model.tar.gz'}: file too large" in result.stderr
    assert list((project / "out").iterdir()) == []


def test_wrong_usage_is_status_2(project: Path) -> None:
    assert run("model", "build", "small").exit_code == 2
    assert run("model", "biuld").exit_code == 2
    assert run("nothing").exit_code == 2


def test_presets_are_listed(project: Path) -> None:
    listed = json.loads(run("model", "list", "--json").stdout)["presets"]
    assert [preset["name"] for preset in listed] == ["small", "wrong"]
    assert listed[0]["model"]["file"] == "small.gguf"
    assert run("model", "list").stdout.startswith("small ")


def test_help_teaches_every_command() -> None:
    told = run("--help").stdout
    for name, entry in COMMANDS.items():
        assert re.search(rf"^  {name} +{re.escape(entry.help)}$", told, re.MULTILINE)
        command = main.get_command(click.Context(main), name)
        assert command is not None
        assert command.get_short_help_str(limit=len(entry.help) + 20) == entry.help
        assert run(name, "--help").exit_code == 0
    assert run("--version").stdout.startswith("semif, version ")


def test_help_of_all_commands_loads_none() -> None:
    program = (
        "import sys; from semif.cli import main; main(['--help'], standalone_mode=False); print(*sys.modules)"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    ).stdout.split()
    assert [name for name in loaded if re.match(r"semif\.cli\.(asking|operating|preparing)|boto", name)] == []
