"""Presets and the project's folder: read whole, wrong files told with everything that is wrong."""

import hashlib
from pathlib import Path

import pytest

from semif.errors import ProblemsError, SemifError
from semif.models.presets import load_preset, preset_names
from semif.project.root import project_root
from semif_adapter.archive.manifest import ModelManifest

FILE = """
description = "one"
license = "Apache-2.0"
quantization = "Q4_1"
[model]
source = "pypi://some-package"
revision = "1.0"
file = "some.gguf"
bytes = 12
sha256 = "{sha256}"
[prompt]
readout = "text"
""".format(sha256="a" * 64)


def project(folder: Path, text: str = FILE) -> Path:
    (folder / "models").mkdir()
    (folder / "models" / "one.toml").write_text(text)
    return folder


def test_the_presets_of_the_project_all_read() -> None:
    presets = {name: load_preset(name) for name in preset_names()}
    heads = {"kev-0.8b", "kev-4b", "kev-9b", "laya", "julia-1", "lev"}
    assert set(presets) == {"embedded", "gemma-270m", "qwen3.5-0.8b", "qwen3.5-2b", "qwen3.5-4b"} | heads
    asked = {name: (preset.prompt.readout, preset.prompt.template) for name, preset in presets.items()}
    assert {name for name, (readout, _) in asked.items() if readout == "head"} == heads
    assert {presets[name].license for name in heads} == {"Apache-2.0"}, "others are for their users to pin"
    assert all(presets[name].published for name in heads)
    assert "not fit for scores" in presets["kev-0.8b"].description
    assert asked["qwen3.5-4b"] == asked["qwen3.5-2b"] == asked["qwen3.5-0.8b"] == ("letters", "chat")
    assert asked["embedded"] == ("text", "chat")
    assert asked["gemma-270m"] == ("text", "plain")
    assert len({preset.manifest().sha256 for preset in presets.values()}) == 11


def test_the_manifest_depends_on_the_preset_alone_and_reads_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEMIF_PROJECT", str(project(tmp_path)))
    manifest = load_preset("one").manifest()
    assert manifest.sha256 == hashlib.sha256(manifest.canonical_bytes()).hexdigest()
    assert ModelManifest.model_validate_json(manifest.canonical_bytes()) == manifest
    (tmp_path / "models" / "one.toml").write_text(FILE.replace('readout = "text"', 'readout = "letters"'))
    assert load_preset("one").manifest().sha256 != manifest.sha256


def test_a_local_path_does_not_enter_the_manifest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = FILE.replace("pypi://some-package", f"file:{tmp_path}/some.gguf").replace('revision = "1.0"', "")
    monkeypatch.setenv("SEMIF_PROJECT", str(project(tmp_path, text)))
    assert load_preset("one").manifest().source == "file:some.gguf"


def test_every_problem_of_a_file_is_told_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (
        FILE.replace('license = "Apache-2.0"', 'licence = "Apache-2.0"')
        .replace("bytes = 12", "bytes = -1")
        .replace('revision = "1.0"', 'revision = "latest"')
        .replace('readout = "text"', 'readout = "prose"')
    )
    monkeypatch.setenv("SEMIF_PROJECT", str(project(tmp_path, text)))
    with pytest.raises(ProblemsError) as e:
        load_preset("one")
    assert len(e.value.problems) == 5
    told = "\n".join(e.value.problems)
    for part in (
        "license is missing",
        "licence",
        "model.bytes = -1",
        "prompt.readout = 'prose'",
        "'letters', 'text' or 'head'",
    ):
        assert part in told


def test_a_wrong_key_does_not_hide_what_is_wrong_with_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = FILE.replace('license = "Apache-2.0"\n', "") + '[calibration]\nfile = "no.calibration.json"\n'
    monkeypatch.setenv("SEMIF_PROJECT", str(project(tmp_path, text)))
    with pytest.raises(ProblemsError) as e:
        load_preset("one")
    assert [problem.split(" ")[0] for problem in e.value.problems] == ["license", "cannot"]
    pin = FILE.replace('"1.0"', '"latest"').replace("[prompt]", "checked_on = 2026-11-30\n[prompt]")
    (tmp_path / "models" / "one.toml").write_text(pin)
    with pytest.raises(ProblemsError) as e:
        load_preset("one")
    assert [problem.split(":")[0] for problem in e.value.problems] == ["model.revision", "model.checked_on"]


def test_rules_between_keys_are_told_with_their_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEMIF_PROJECT", str(project(tmp_path, FILE.replace('"1.0"', '"latest"'))))
    with pytest.raises(
        ProblemsError,
        match=r"model\.revision: the revision of a pypi source must be an exact version, got 'latest'",
    ):
        load_preset("one")


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"description = ", "is not TOML"),
        (b"\xff\xfe", "is in UTF-16"),
        (b"\xff", "is not UTF-8"),
        (b"#" * 1_100_000, "longer than 1,048,576 bytes"),
        (b"name = 'two'\n" + FILE.encode(), "name must not be set in the file"),
    ],
)
def test_what_is_no_preset_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data: bytes, reason: str
) -> None:
    folder = project(tmp_path)
    (folder / "models" / "one.toml").write_bytes(data)
    monkeypatch.setenv("SEMIF_PROJECT", str(folder))
    with pytest.raises(SemifError, match=reason):
        load_preset("one")


@pytest.mark.parametrize("name", ["two", "../one", "", "ONE"])
def test_an_unknown_name_is_told_the_known_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("SEMIF_PROJECT", str(project(tmp_path)))
    with pytest.raises(SemifError, match="known are one"):
        load_preset(name)


def test_the_project_is_found_from_below_by_variable_and_from_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SEMIF_PROJECT", raising=False)
    outside = tmp_path / "outside"
    below = tmp_path / "mine" / "deep" / "down"
    below.mkdir(parents=True)
    outside.mkdir()
    project(tmp_path / "mine")
    monkeypatch.chdir(outside)
    assert (project_root() / "models" / "embedded.toml").exists()
    monkeypatch.chdir(below)
    assert project_root() == tmp_path / "mine"
    monkeypatch.setenv("SEMIF_PROJECT", str(outside))
    with pytest.raises(SemifError, match="holds no models"):
        project_root()
