"""The published container in the region's registry."""

import sys
from pathlib import Path

import pytest

from semif.base_images import base_image
from semif.errors import SemifError
from semif.instances import Accelerator
from semif.project import PROJECT_VARIABLE, project_root
from semif.regional_image import regional_image


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


def test_a_region_without_the_container_is_refused() -> None:
    with pytest.raises(SemifError, match="llama-cpp has no known registry in xx-west-1: Unsupported region"):
        regional_image("cpu", "xx-west-1")


def test_without_sagemaker_core_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sagemaker.core", None)
    with pytest.raises(SemifError, match="sagemaker-core is not installed; run `make setup`"):
        regional_image("cpu", "eu-central-1")
