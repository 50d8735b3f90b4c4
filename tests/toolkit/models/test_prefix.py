"""A model's files under a prefix: complete or not there, nothing foreign among them, never overwritten."""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from semif.errors import SemifError
from semif.models.packaging.build import build_model
from tests.support.models.small_models import files_below, preset_of

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

Make = Callable[..., Path]


def objects(s3: "S3Client") -> dict[str, bytes]:
    """All but the marks of what was read back, which are empty and each of an object that there is."""
    keys = [item["Key"] for item in s3.list_objects_v2(Bucket="models").get("Contents", [])]
    found = {key: s3.get_object(Bucket="models", Key=key)["Body"].read() for key in keys}
    marks = {key: found.pop(key) for key in keys if "/read-back/" in key}
    assert {key.replace("/read-back/", "/") for key in marks} <= found.keys()
    assert set(marks.values()) <= {b""}
    return found


def test_the_files_lie_under_their_manifests_hash_once(
    s3: "S3Client", sound_gguf: Path, own_cache: Path
) -> None:
    gguf = sound_gguf
    preset = preset_of(gguf)
    manifest = preset.manifest()
    built = build_model(preset, "s3://models/some", model_format="prefix")
    prefix = f"some/{manifest.sha256}/files"
    assert built.address == f"s3://models/{prefix}/"
    assert objects(s3) == {
        f"{prefix}/{manifest.gguf.file}": gguf.read_bytes(),
        f"{prefix}/model-manifest.json": manifest.canonical_bytes(),
    }
    assert files_below(own_cache) == []

    gguf.unlink()  # what is in S3 needs no source
    again = build_model(preset, "s3://models/some", model_format="prefix")
    assert again.reused
    assert again.as_json() == built.as_json()
    assert len(s3.list_object_versions(Bucket="models", Prefix=prefix)["Versions"]) == 2


def test_an_archive_beside_the_files_is_no_part_of_them(
    s3: "S3Client", tiny_gguf: Make, own_cache: Path
) -> None:
    preset = preset_of(tiny_gguf())
    build_model(preset, "s3://models")
    built = build_model(preset, "s3://models", model_format="prefix")
    inside = [key for key in objects(s3) if f"s3://models/{key}".startswith(built.address)]
    assert len(inside) == 2


def test_what_broke_off_is_completed(s3: "S3Client", tiny_gguf: Make, own_cache: Path) -> None:
    preset = preset_of(tiny_gguf())
    built = build_model(preset, "s3://models", model_format="prefix")
    s3.delete_object(Bucket="models", Key=f"{preset.manifest().sha256}/files/model-manifest.json")
    again = build_model(preset, "s3://models", model_format="prefix")
    assert (again.reused, again.address) == (False, built.address)
    assert len(objects(s3)) == 2


def test_other_bytes_and_foreign_files_are_refused(s3: "S3Client", tiny_gguf: Make, own_cache: Path) -> None:
    preset = preset_of(tiny_gguf())
    manifest = preset.manifest()
    build_model(preset, "s3://models", model_format="prefix")
    before = objects(s3)
    foreign = f"{manifest.sha256}/files/another.gguf"
    s3.put_object(Bucket="models", Key=foreign, Body=b"GGUF")
    with pytest.raises(SemifError, match=r"another\.gguf is no file of manifest"):
        build_model(preset, "s3://models", model_format="prefix")
    s3.delete_object(Bucket="models", Key=foreign)

    metadata = {
        "semif-sha256": hashlib.sha256(b"other").hexdigest(),
        "semif-manifest-sha256": manifest.sha256,
    }
    key = f"{manifest.sha256}/files/{manifest.gguf.file}"
    s3.put_object(Bucket="models", Key=key, Body=b"other", Metadata=metadata)
    with pytest.raises(SemifError, match="a published file is never overwritten"):
        build_model(preset, "s3://models", model_format="prefix")
    assert objects(s3) == {**before, key: b"other"}


def test_a_wrong_model_leaves_nothing(s3: "S3Client", small_gguf: Make, own_cache: Path) -> None:
    with pytest.raises(SemifError, match="SHA-256"):
        build_model(preset_of(small_gguf(), sha256="0" * 64), "s3://models", model_format="prefix")
    assert objects(s3) == {}


def test_a_folder_gets_the_files_too(sound_gguf: Path, own_cache: Path, tmp_path: Path) -> None:
    gguf = sound_gguf
    preset = preset_of(gguf)
    built = build_model(preset, str(tmp_path / "out"), model_format="prefix")
    assert built.as_json()["path"] == str(tmp_path / "out")
    assert (tmp_path / "out" / preset.manifest().gguf.file).read_bytes() == gguf.read_bytes()
    assert (tmp_path / "out" / "model-manifest.json").read_bytes() == preset.manifest().canonical_bytes()
