"""A checkpoint and its base model: pinned from the hub, fetched, held against their publisher, published."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner, Result
from pydantic import ValidationError

from semif.cli import main
from semif.errors import SemifError
from semif.models.any_preset import any_preset_names, load_any_preset
from semif.models.checkpoint.checkpoint_preset import CheckpointPreset, load_checkpoint
from semif.models.packaging.build import build_model
from tests.support.models.checkpoints import (
    BASE,
    BASE_COMMIT,
    CHECKPOINT,
    COMMIT,
    CheckpointHub,
    base_files,
    checkpoint_files,
    hashes_of,
    sha256,
)
from tests.support.models.small_models import files_below
from tests.support.servers.running import running

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

BASE_FOLDER = f"hf-cache/models--base--Tiny-Base/snapshots/{BASE_COMMIT}"


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[CheckpointHub]:
    for name in ("HF_TOKEN", "http_proxy", "HTTP_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with running(CheckpointHub()) as server:
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.server_port}")
        yield server


@pytest.fixture
def pin(hub: CheckpointHub, models: Path, own_cache: Path) -> Callable[..., Result]:
    def run(*options: str) -> Result:
        return CliRunner().invoke(main, ["model", "pin-checkpoint", f"hf:{CHECKPOINT}", *options])

    return run


def test_every_file_that_the_server_reads_is_pinned_and_no_weights_are_fetched(
    hub: CheckpointHub, pin: Callable[..., Result]
) -> None:
    result = pin()
    assert result.exit_code == 0, result.output
    preset = load_checkpoint("tiny-decider")
    files = checkpoint_files()
    assert {one.file: (one.bytes, one.sha256) for one in preset.checkpoint.files} == {
        name: (len(content), sha256(content)) for name, content in files.items() if name != "README.md"
    }
    assert (preset.checkpoint.revision, preset.base.repository, preset.base.revision) == (
        COMMIT,
        BASE,
        BASE_COMMIT,
    )
    assert preset.base.names == ("config.json", "model.safetensors")
    assert not [name for name in hub.fetched if name.endswith(".safetensors")]
    assert any_preset_names() == ("other", "tiny-decider")
    for words in (["list"], ["show", "tiny-decider"]):
        shown = CliRunner().invoke(main, ["model", *words])
        assert "Tiny_Decider, on base/Tiny-Base" in shown.output
    assert "there already" in pin().output
    assert pin("--force").exit_code == 0


def test_a_commit_that_only_the_provenance_names_is_taken(
    hub: CheckpointHub, pin: Callable[..., Result]
) -> None:
    files = checkpoint_files(base_revision=None)
    del files["MANIFEST.sha256"]
    files["provenance.json"] = f'{{"base_model": "{BASE}", "base_model_revision": "{BASE_COMMIT}"}}'.encode()
    hub.repositories[CHECKPOINT] = (COMMIT, {**files, "MANIFEST.sha256": hashes_of(files)})
    assert pin().exit_code == 0
    assert load_checkpoint("tiny-decider").base.revision == BASE_COMMIT


def test_what_cannot_be_pinned_is_refused_in_words(hub: CheckpointHub, pin: Callable[..., Result]) -> None:
    whole = checkpoint_files()
    cases: list[tuple[dict[str, bytes], str]] = [
        ({name: whole[name] for name in whole if name != "MANIFEST.sha256"}, "has no MANIFEST.sha256"),
        ({name: whole[name] for name in whole if "config" not in name}, "it is no published checkpoint"),
        ({name: whole[name] for name in whole if name != "tokenizer.json"}, "has no tokenizer.json"),
        ({**whole, "MANIFEST.sha256": b"words\n"}, "line 1 of MANIFEST.sha256 is no SHA-256 and path"),
        (checkpoint_files(base_revision=None), "names no base model at a commit"),
    ]
    for files, told in cases:
        hub.repositories[CHECKPOINT] = (COMMIT, files)
        assert told in pin().output
    hub.repositories[CHECKPOINT] = (COMMIT, whole)
    hub.lfs_hashes["head.safetensors"] = "0" * 64
    assert "has SHA-256 000" in pin().output
    assert any_preset_names() == ("other",)


def test_the_files_are_published_as_the_server_looks_for_them_once(
    pin: Callable[..., Result], s3: "S3Client", tmp_path: Path
) -> None:
    pin()
    preset = load_any_preset("tiny-decider")
    with pytest.raises(SemifError, match="is published as its files; give --format prefix"):
        build_model(preset, "s3://models/some")
    built = build_model(preset, "s3://models/some", model_format="prefix")
    folder = f"some/{preset.manifest().sha256}"
    assert built.address == f"s3://models/{folder}/files/"
    listed = {item["Key"] for item in s3.list_objects_v2(Bucket="models")["Contents"]}
    keys = {key.removeprefix(f"{folder}/files/") for key in listed if "/read-back/" not in key}
    assert listed == {f"{folder}/{there}/{key}" for there in ("files", "read-back/files") for key in keys}
    wanted = {f"Tiny_Decider/{name}" for name in checkpoint_files() if name != "README.md"}
    assert keys == wanted | {
        f"{BASE_FOLDER}/config.json",
        f"{BASE_FOLDER}/model.safetensors",
        "model-manifest.json",
    }
    assert build_model(preset, "s3://models/some", model_format="prefix").reused
    build_model(preset, str(tmp_path / "out"), model_format="prefix")
    assert set(files_below(tmp_path / "out")) == keys
    weights = tmp_path / "out" / BASE_FOLDER / "model.safetensors"
    assert weights.read_bytes() == base_files()["model.safetensors"]


def test_a_pin_that_its_publisher_contradicts_is_not_built(
    pin: Callable[..., Result], hub: CheckpointHub, models: Path, tmp_path: Path
) -> None:
    pin()
    path = models / "checkpoints" / "tiny-decider.toml"
    own = b"head of ours"
    hub.repositories[CHECKPOINT][1]["head.safetensors"] = own
    text = (
        path.read_text().replace(sha256(b"head"), sha256(own)).replace("bytes = 4\n", f"bytes = {len(own)}\n")
    )
    path.write_text(text.replace(f'revision = "{BASE_COMMIT}"', f'revision = "{"d" * 40}"'))
    hub.repositories[BASE] = ("d" * 40, base_files())
    with pytest.raises(SemifError) as refused:
        build_model(load_checkpoint("tiny-decider"), str(tmp_path / "out"), model_format="prefix")
    for told in (
        f"head.safetensors is pinned with SHA-256 {sha256(own)}, MANIFEST.sha256 of {CHECKPOINT} says",
        f"strands_decider_config.json is of the base model {BASE}@{BASE_COMMIT}, pinned is {BASE}@dddd",
    ):
        assert told in str(refused.value)


def test_a_preset_that_lacks_files_or_names_others_is_refused_whole(
    pin: Callable[..., Result], models: Path
) -> None:
    pin()
    content = load_checkpoint("tiny-decider").model_dump()
    content["checkpoint"]["files"] = [
        {**one, "file": "slot_head.pt"} if one["file"] == "head.safetensors" else one
        for one in content["checkpoint"]["files"]
    ]
    with pytest.raises(ValidationError) as refused:
        CheckpointPreset.model_validate(content)
    assert "lacks head.safetensors" in str(refused.value)
    assert "'slot_head.pt', which the server does not read" in str(refused.value)
