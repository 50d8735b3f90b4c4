"""What tests share: a cache of their own, a machine without access, an account and a bucket of moto's."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from moto import mock_aws

from local_aws.core import quick_imports
from semif.aws.clients import Aws

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

quick_imports.leave_out()


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache folder for this test."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "semif"


@pytest.fixture(scope="module")
def account() -> Iterator[Aws]:
    """One of moto's, for all tests of a module: its clients take a second to make."""
    with pytest.MonkeyPatch.context() as patch, mock_aws():
        for name in ("AWS_PROFILE", "AWS_ENDPOINT_URL"):
            patch.delenv(name, raising=False)
        yield Aws(region="us-east-1")


@pytest.fixture
def s3(monkeypatch: pytest.MonkeyPatch) -> "Iterator[S3Client]":
    """Of an account with an empty, versioned bucket `models`."""
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    with mock_aws():
        client = Aws.from_profile(region=None).s3
        client.create_bucket(Bucket="models")
        client.put_bucket_versioning(Bucket="models", VersioningConfiguration={"Status": "Enabled"})
        yield client


@pytest.fixture
def no_access(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A machine on which nobody has ever signed in."""
    for name in (
        "AWS_PROFILE",
        "AWS_ACCESS_KEY_ID",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_REGION",
        "AWS_DEFAULT_REGION",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
