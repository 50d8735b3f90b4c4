"""Where a variant may be placed."""

from pathlib import Path

import botocore.session
import pytest

from semif.environment.environment import read_environment
from semif.project.root import project_root
from semif.sagemaker.placement import POOL_REGIONS, pool_region_warning


def test_the_regions_of_instance_pools_are_sagemakers() -> None:
    regions = botocore.session.get_session().get_available_regions("sagemaker")
    assert set(regions) >= POOL_REGIONS
    assert len(POOL_REGIONS) == 16


@pytest.mark.parametrize("region", ["eu-west-3", "us-west-1", "us-gov-west-1", "cn-north-1"])
def test_a_region_without_known_pools_is_told(region: str) -> None:
    told = pool_region_warning(region)
    assert told is not None
    assert f"no instance pools in {region} by May 2026" in told
    assert pool_region_warning("eu-central-1") is None


@pytest.mark.parametrize(("name", "told"), [("prod", True), ("dev", False)])
def test_the_file_tells_of_its_own_region(tmp_path: Path, name: str, told: bool) -> None:
    text = (project_root() / "environments" / f"{name}.toml").read_text()
    file = tmp_path / f"{name}.toml"
    for region, warned in (("eu-west-3", told), ("eu-central-1", False)):
        file.write_text(f'region = "{region}"\n{text}')
        found = [
            line for line in read_environment(file).warnings if "instance_pool: SageMaker had no" in line
        ]
        assert bool(found) == warned
