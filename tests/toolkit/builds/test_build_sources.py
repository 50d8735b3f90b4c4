"""What the builds start from: the same files give the same zip, on every machine and at any time."""

import io
import os
import shutil
import subprocess
import zipfile
from pathlib import Path

import boto3
import pytest
from moto import mock_aws

from semif.builds.sources import (
    IMAGE_SOURCES,
    MODEL_SOURCES,
    pack_sources,
    source_revision,
    upload_sources,
)
from semif.errors import SemifError
from semif.project.root import project_root

GLOBS = ("build.yml", "app/**/*.py")


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    (root / "app" / "inner").mkdir(parents=True)
    (root / "build.yml").write_text("version: 0.2\n")
    (root / "app" / "b.py").write_text("b = 1\n")
    (root / "app" / "inner" / "a.py").write_text("a = 1\n")
    return root


def names(data: bytes) -> list[str]:
    return zipfile.ZipFile(io.BytesIO(data)).namelist()


def test_same_files_give_the_same_zip_whatever_their_times_modes_and_place(
    sources: Path, tmp_path: Path
) -> None:
    first = pack_sources(sources, GLOBS)
    copy = tmp_path / "elsewhere"
    shutil.copytree(sources, copy)
    os.utime(copy / "app" / "b.py", (1, 1))
    (copy / "app" / "b.py").chmod(0o600)
    assert pack_sources(copy, GLOBS[::-1]) == first
    assert names(first.data) == ["app/b.py", "app/inner/a.py", "build.yml"]


def test_a_changed_byte_or_name_changes_the_hash(sources: Path) -> None:
    first = pack_sources(sources, GLOBS)
    (sources / "app" / "b.py").write_text("b = 2\n")
    changed = pack_sources(sources, GLOBS)
    (sources / "app" / "b.py").rename(sources / "app" / "c.py")
    renamed = pack_sources(sources, GLOBS)
    assert len({first.sha256, changed.sha256, renamed.sha256}) == 3
    assert changed.key == f"sources/{changed.sha256}.zip"


def test_caches_and_strangers_stay_out(sources: Path) -> None:
    before = pack_sources(sources, GLOBS)
    (sources / "app" / "__pycache__").mkdir()
    (sources / "app" / "__pycache__" / "b.cpython-311.pyc").write_bytes(b"\0")
    (sources / ".env").write_text("SECRET=1\n")
    (sources / "app" / "notes.txt").write_text("a scratch file\n")
    assert pack_sources(sources, GLOBS) == before


def test_every_missing_part_is_named(sources: Path) -> None:
    with pytest.raises(SemifError, match=r"lacks what the build needs: Dockerfile, models/\*\.toml"):
        pack_sources(sources, ("Dockerfile", "build.yml", "models/*.toml"))


def test_the_image_holds_nothing_of_the_toolkit_and_the_model_build_no_image() -> None:
    image = names(pack_sources(project_root(), IMAGE_SOURCES).data)
    model = names(pack_sources(project_root(), MODEL_SOURCES).data)
    assert {"buildspec.yml", "adapter_image/Dockerfile", "adapter_image/requirements.txt"} <= set(image)
    assert not [name for name in image if name.startswith(("semif/", "models/", "tests/"))]
    assert {"buildspec.model.yml", "models/embedded.toml", "semif/models/packaging/build.py"} <= set(model)
    assert not [name for name in model if name.startswith(("tests/", "cdk_app/")) or "Dockerfile" in name]


@mock_aws
def test_a_zip_that_is_there_is_not_sent_again(sources: Path) -> None:
    s3 = boto3.client("s3", region_name="us-east-1")
    s3.create_bucket(Bucket="models")
    s3.put_bucket_versioning(Bucket="models", VersioningConfiguration={"Status": "Enabled"})
    source = pack_sources(sources, GLOBS)
    upload_sources(s3, "models", source)
    upload_sources(s3, "models", source)
    assert s3.get_object(Bucket="models", Key=source.key)["Body"].read() == source.data
    assert len(s3.list_object_versions(Bucket="models")["Versions"]) == 1


@mock_aws
def test_a_missing_bucket_is_told_in_one_line(sources: Path) -> None:
    s3 = boto3.client("s3", region_name="us-east-1")
    with pytest.raises(SemifError, match="failed: NoSuchBucket"):
        upload_sources(s3, "nowhere", pack_sources(sources, GLOBS))


def test_the_revision_is_the_commit_and_says_where_the_files_differ(sources: Path) -> None:
    assert source_revision(sources) == "unrecorded"
    git = ["git", "-C", str(sources), "-c", "user.name=a", "-c", "user.email=a@example.com"]
    for arguments in (["init", "--quiet"], ["add", "."], ["commit", "--quiet", "--message", "first"]):
        subprocess.run([*git, *arguments], check=True)
    head = subprocess.run(
        [*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True
    ).stdout.strip()
    assert source_revision(sources) == head
    (sources / "build.yml").write_text("version: 0.3\n")
    assert source_revision(sources) == f"{head}-changed"
