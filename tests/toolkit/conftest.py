"""What tests share: a cache of their own, an account and a bucket of moto's, one adapter to ask."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from moto import mock_aws

from semif.aws.clients import Aws
from semif.project.root import project_root
from tests.support.running import running
from tests.support.sagemaker_stand_in import StandIn
from tests.support.serving import serving

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_sagemaker_runtime import SageMakerRuntimeClient


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


@pytest.fixture(scope="session")
def adapter_url(embedded_gguf: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The embedded model, served as a person would, with the page."""
    log = tmp_path_factory.mktemp("serve") / "log"
    # SEMIF_PROJECT is the toolkit's own; the adapter refuses what it does not know and never sees it.
    with serving(log, "--ui", SEMIF_PROJECT=str(project_root())) as served:
        yield served
    told = log.read_text()
    assert f"semif decide --url {served}" in told
    assert f"the page to try it: {served}/" in told


@pytest.fixture(scope="session")
def stand_in_server() -> Iterator[StandIn]:
    with running(StandIn()) as server:
        yield server


@pytest.fixture
def stand_in(stand_in_server: StandIn) -> StandIn:
    """SageMaker's runtime, or an adapter, that fails as it is told; nothing told yet."""
    stand_in_server.reset()
    return stand_in_server


@pytest.fixture(scope="session")
def runtime(stand_in_server: StandIn) -> "SageMakerRuntimeClient":
    """botocore's client of the stand-in, made once: that takes a second."""
    return Aws(region="us-east-1", endpoint_url=stand_in_server.url).sagemaker_runtime
