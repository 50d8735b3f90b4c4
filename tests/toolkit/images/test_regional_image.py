"""The published container in the region's registry."""

import json
from pathlib import Path

import botocore.session
import pytest

from semif.errors import SemifError
from semif.images.base_images import base_image
from semif.images.regional_images import build_base, regional_image, registries, registry_of
from semif.project.root import PROJECT_VARIABLE, project_root
from semif.sagemaker.instances import Accelerator
from tests.support.sagemaker_sdk import IMAGE_URI_CONFIG


@pytest.mark.parametrize(
    ("region", "registry"),
    [
        ("eu-central-1", "763104351884.dkr.ecr.eu-central-1.amazonaws.com"),
        ("eu-south-1", "692866216735.dkr.ecr.eu-south-1.amazonaws.com"),
        ("cn-north-1", "727897471807.dkr.ecr.cn-north-1.amazonaws.com.cn"),
    ],
)
@pytest.mark.parametrize("accelerator", ["cpu", "cuda"])
def test_the_registry_is_the_regions_and_the_digest_the_pinned_one(
    accelerator: Accelerator, region: str, registry: str
) -> None:
    assert (
        str(regional_image(accelerator, region)) == f"{registry}/llama-cpp@{base_image(accelerator).digest}"
    )


def test_graviton_has_a_repository_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The project pins no digest for it yet: here the CPU image's stands for one."""
    (tmp_path / "adapter_image").mkdir()
    (tmp_path / "models").symlink_to(project_root() / "models")
    pins = (project_root() / "adapter_image" / "dlc.toml").read_text()
    digest = base_image("cpu").digest
    (tmp_path / "adapter_image" / "dlc.toml").write_text(f'{pins}digest = "{digest}"\n')
    monkeypatch.setenv(PROJECT_VARIABLE, str(tmp_path))
    found = regional_image("graviton", "eu-central-1")
    assert str(found) == f"763104351884.dkr.ecr.eu-central-1.amazonaws.com/llama-cpp-arm64@{digest}"


@pytest.mark.parametrize(
    ("region", "domain"),
    [
        ("eu-central-1", "amazonaws.com"),
        ("cn-north-1", "amazonaws.com.cn"),
        ("eusc-de-east-1", "amazonaws.eu"),
        ("xx-west-1", "amazonaws.com"),
    ],
)
def test_an_accounts_registry_is_in_the_domain_of_its_region(region: str, domain: str) -> None:
    assert registry_of("111122223333", region) == f"111122223333.dkr.ecr.{region}.{domain}"


def test_a_region_without_the_container_is_refused() -> None:
    with pytest.raises(SemifError, match="llama-cpp has no known registry in 'xx-west-1', known"):
        regional_image("cpu", "xx-west-1")


def test_only_the_partition_aws_builds_from_the_public_registry() -> None:
    session = botocore.session.get_session()
    for region in registries():
        public = build_base("cpu", region) == base_image("cpu")
        assert public == (session.get_partition_for_region(region) == "aws"), region
        assert public or build_base("cpu", region) == regional_image("cpu", region)
    assert build_base("cpu", None) == base_image("cpu")


@pytest.mark.parametrize("name", ["llama-cpp", "llama-cpp-arm64"])
def test_the_registries_are_those_that_the_sagemaker_sdk_knows(name: str) -> None:
    from sagemaker.core import image_uris  # noqa: PLC0415 - 3 CPU seconds, which not every worker shall pay

    accounts = json.loads((IMAGE_URI_CONFIG / f"{name}.json").read_text())["versions"]["1"]["registries"]
    hosts = {region: host.split(".") for region, host in registries().items()}
    assert {region: host[0] for region, host in hosts.items()} == accounts
    assert all(host[1:4] == ["dkr", "ecr", region] for region, host in hosts.items())
    for suffix in {tuple(host[4:]) for host in hosts.values()}:
        region = next(region for region, host in hosts.items() if tuple(host[4:]) == suffix)
        # The SDK has Graviton families for other frameworks only; the registry depends on the region alone.
        options = {"version": "1", "instance_type": "ml.c5.large", "image_scope": "inference"}
        assert image_uris.retrieve(name, region, **options).startswith(f"{registries()[region]}/{name}:")
