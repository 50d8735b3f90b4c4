"""A preset's calibration: packed and published with the model, and refused where it is another's."""

import hashlib
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import pytest

from semif.builds.sources import MODEL_SOURCES, model_sources
from semif.calibration.calibration_file import read_calibration
from semif.errors import SemifError
from semif.evaluation.tasks.task_lines import read_task_set
from semif.models.packaging.archive import ARCHIVE_FILE, write_archive
from semif.models.packaging.build import build_model
from semif.models.presets import Preset, load_preset
from semif.models.sources.verify import MismatchError
from semif.project.root import project_root
from semif.serve.local_adapter import adapter_environment
from semif_adapter.archive.manifest import MANIFEST_FILE
from semif_adapter.archive.prompt_version import prompt_version
from semif_adapter.contract.settings import Settings
from semif_adapter.contract.wire import Layout
from semif_adapter.engine.model_files import find_calibration, find_model
from tests.support.models.small_models import files_below, pin_of
from tests.support.runs.calibrations import calibration, write_calibration
from tests.support.servers.serving import free_port

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

FILE = "small.calibration.json"
Make = Callable[..., Path]


@pytest.fixture
def project(tmp_path: Path, sound_gguf: Path, monkeypatch: pytest.MonkeyPatch, own_cache: Path) -> Path:
    """A project whose preset `small` has a calibration."""
    gguf = sound_gguf
    pin = pin_of(gguf)
    folder = tmp_path / "project" / "models"
    folder.mkdir(parents=True)
    (folder / "small.toml").write_text(
        'description = "small"\nlicense = "Apache-2.0"\nquantization = "F32"\n'
        f'[model]\nsource = "file:{gguf}"\nfile = "{pin.file}"\nbytes = {pin.bytes}\n'
        f'sha256 = "{pin.sha256}"\n'
        '[prompt]\nreadout = "text"\ntemplate = "plain"\n'
        f'[calibration]\nfile = "{FILE}"\n'
    )
    calibrate(folder.parent, pin.sha256)
    monkeypatch.setenv("SEMIF_PROJECT", str(folder.parent))
    return folder.parent


def calibrate(project: Path, model_sha256: str, **changed: Any) -> Path:
    content = calibration(model_sha256, **{"template": "plain", **changed})
    return write_calibration(project / "models" / FILE, content)


def test_its_hash_is_part_of_the_models_identity(project: Path) -> None:
    preset = load_preset("small")
    manifest = preset.manifest()
    content = (project / "models" / FILE).read_bytes()
    assert [member.role for member in manifest.members] == ["gguf", "calibration"]
    assert manifest.calibration is not None
    assert manifest.calibration.sha256 == hashlib.sha256(content).hexdigest()
    assert manifest.calibration.bytes == len(content)
    calibrate(project, preset.model.sha256, temperature=3.0)
    assert load_preset("small").manifest().sha256 != manifest.sha256


def test_the_archive_holds_it_and_the_adapter_finds_it(project: Path, tmp_path: Path) -> None:
    build_model(load_preset("small"), str(tmp_path / "out"))
    with tarfile.open(tmp_path / "out" / ARCHIVE_FILE) as packed:
        assert packed.getnames() == [MANIFEST_FILE, "small.gguf", FILE]
        packed.extractall(tmp_path / "model", filter="data")
    settings = Settings(model_dir=tmp_path / "model")
    found = find_calibration(settings, find_model(settings))
    assert found is not None
    assert found.content == calibration(load_preset("small").model.sha256, template="plain")


def test_files_under_a_prefix_hold_it_too(project: Path, s3: "S3Client", tmp_path: Path) -> None:
    preset = load_preset("small")
    published = build_model(preset, "s3://models", model_format="prefix")
    prefix = published.address.removeprefix("s3://models/")
    under = s3.list_objects_v2(Bucket="models", Prefix=prefix)["Contents"]
    listed = {item["Key"].removeprefix(prefix) for item in under}
    assert listed == {"small.gguf", FILE, MANIFEST_FILE}
    assert build_model(preset, "s3://models", model_format="prefix").reused
    build_model(preset, str(tmp_path / "out"), model_format="prefix")
    assert files_below(tmp_path / "out") == sorted(listed)


def test_one_that_changes_while_it_is_packed_leaves_nothing(project: Path, tmp_path: Path) -> None:
    preset = load_preset("small")
    manifest = preset.manifest()
    file = calibrate(project, preset.model.sha256, temperature=3.0)
    gguf = Path(preset.model.source.removeprefix("file:"))
    with pytest.raises(MismatchError, match=r"calibration\.json changed while it was packed"):
        write_archive(manifest, [gguf, file], tmp_path / "out" / ARCHIVE_FILE)
    assert files_below(tmp_path / "out") == []


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"model_sha256": "0" * 64}, "is the calibration of the model with SHA-256 0000"),
        ({"readout": "letters"}, "is the calibration of the prompt plain-letters-"),
        ({"template": "chat"}, "is the calibration of the prompt chat-text-"),
    ],
)
def test_one_of_another_model_or_prompt_is_refused_before_anything_is_fetched(
    project: Path, changed: dict[str, Any], expected: str
) -> None:
    calibrate(project, **{"model_sha256": load_preset("small").model.sha256, **changed})
    with pytest.raises(SemifError, match=rf"{expected}.*file in \[calibration\] of the preset small"):
        load_preset("small")


def test_a_missing_one_is_named(project: Path) -> None:
    (project / "models" / FILE).unlink()
    with pytest.raises(SemifError, match=r"cannot read .*small\.calibration\.json: no such file"):
        load_preset("small")


def test_the_build_machine_gets_it(project: Path) -> None:
    preset = load_preset("small")
    assert model_sources(preset) == (*MODEL_SOURCES, f"models/{FILE}")
    assert model_sources(Preset(**{**preset.model_dump(), "calibration": None})) == MODEL_SOURCES


def test_the_example_is_of_the_embedded_model_and_the_labelled_tasks() -> None:
    """Whatever makes it stale, another prompt or other tasks, must make it anew."""
    examples = project_root() / "examples"
    preset = load_preset("embedded")
    loaded = read_calibration(examples / "embedded.calibration.json")
    loaded.check_model(preset.model.sha256)
    known: dict[Layout, str] = {
        layout: prompt_version(preset.prompt.template, preset.prompt.readout, layout)
        for layout in get_args(Layout)
    }
    loaded.check_prompts(known, layout=None)
    assert {prompt.prompt_version for prompt in loaded.content.prompts} == set(known.values())
    assert loaded.content.data_sha256 == (read_task_set(examples / "labelled.jsonl").sha256,)


def test_serving_links_it_beside_the_model(project: Path) -> None:
    def environment(**changed: Any) -> dict[str, str]:
        port = free_port()
        return adapter_environment("small", host="127.0.0.1", port=port, progress=lambda *_: None, **changed)

    settings = Settings.from_env(environment())
    found = find_calibration(settings, find_model(settings))
    assert found is not None
    assert found.content.prompts[0].temperature == 2.0
    other = write_calibration(
        project / "other.json",
        calibration(load_preset("small").model.sha256, template="plain", temperature=3.0),
    )
    settings = Settings.from_env(environment(calibration=other))
    found = find_calibration(settings, find_model(settings))
    assert found is not None
    assert found.content.prompts[0].temperature == 3.0
