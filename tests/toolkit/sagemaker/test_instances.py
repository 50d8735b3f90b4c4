"""The table of instance types against what it was made from, and what is said of types that it lacks."""

import gzip
import itertools
import json
from pathlib import Path

import botocore.session
import moto
import pytest

from semif.sagemaker.instances import UNSUPPORTED_FAMILIES, InstanceType, instance_type, instance_types
from semif.sagemaker.placement import CUDA_AMI_VERSIONS, takes_volume, volume_warnings
from semif.sagemaker.scaling import unlike_types_warnings

SERVICE = botocore.session.get_session().get_service_model("sagemaker")
EC2_TYPES = Path(moto.__file__).parent / "ec2" / "resources" / "instance_types.json.gz"


def test_the_types_are_exactly_those_of_sagemaker_hosting() -> None:
    hosted = SERVICE.shape_for("ProductionVariantInstanceType").enum
    usable = {name for name in hosted if name.split(".")[1] not in UNSUPPORTED_FAMILIES}
    assert set(instance_types()) == usable
    assert set(UNSUPPORTED_FAMILIES) <= {name.split(".")[1] for name in hosted}


def test_the_host_images_are_sagemakers() -> None:
    assert set(CUDA_AMI_VERSIONS) <= set(SERVICE.shape_for("ProductionVariantInferenceAmiVersion").enum)


def test_the_sizes_are_ec2s() -> None:
    ec2 = json.loads(gzip.decompress(EC2_TYPES.read_bytes()))
    for name, instance in instance_types().items():
        entry = ec2[name.removeprefix("ml.")]
        gpus = (entry["GpuInfo"] or {"Gpus": [], "TotalGpuMemoryInMiB": 0}) if "GpuInfo" in entry else {}
        disks = entry.get("InstanceStorageInfo") or {"TotalSizeInGB": 0}
        assert instance == InstanceType(
            name=name,
            architecture="arm64" if "arm64" in entry["ProcessorInfo"]["SupportedArchitectures"] else "x86_64",
            vcpus=entry["VCpuInfo"]["DefaultVCpus"],
            memory_bytes=entry["MemoryInfo"]["SizeInMiB"] << 20,
            gpus=sum(gpu["Count"] for gpu in gpus.get("Gpus", ())),
            gpu_memory_bytes=gpus.get("TotalGpuMemoryInMiB", 0) << 20,
            local_disk_gb=disks["TotalSizeInGB"],
            transforms=name in SERVICE.shape_for("TransformInstanceType").enum,
            usd_per_hour=instance.usd_per_hour,
        )
        assert {gpu["Manufacturer"] for gpu in gpus.get("Gpus", ())} <= {"NVIDIA"}


def test_a_larger_type_of_a_family_costs_more() -> None:
    """What a slip of the pen would break; the prices themselves have no source on this machine."""
    families: dict[str, list[InstanceType]] = {}
    for one in instance_types().values():
        if one.usd_per_hour is not None:
            families.setdefault(one.family, []).append(one)
    assert {"c6i", "g5", "g6", "g6e"} <= set(families)
    for family, members in families.items():
        # A type with more of everything is the dearer one; several GPUs cost more than one with more memory.
        for small, large in itertools.permutations(members, 2):
            if small.vcpus < large.vcpus and small.gpus <= large.gpus:
                assert small.usd_per_hour < large.usd_per_hour, (family, small.name, large.name)  # type: ignore[operator]  # neither is None


def test_the_accelerator_follows_from_the_hardware() -> None:
    kinds = {
        name: instance_type(name).accelerator for name in ("ml.c6i.large", "ml.c7g.large", "ml.g6.xlarge")
    }
    assert kinds == {"ml.c6i.large": "cpu", "ml.c7g.large": "graviton", "ml.g6.xlarge": "cuda"}


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("c6i.large", "'c6i.large' is not an instance type, write ml.FAMILY.SIZE"),
        ("ml.c6i", "'ml.c6i' is not an instance type"),
        ("", "'' is not an instance type"),
        ("ml.p4d.xlarge", "is not known, of family p4d there are ml.p4d.24xlarge"),
        ("ml.z9.large", "is of no known instance family, known are c4, c5"),
        ("ml.p3.2xlarge", "cannot serve these models: its GPU is older than Turing"),
        ("ml." + "x" * 500, "characters) is not an instance type"),
    ],
)
def test_what_is_no_usable_type(name: str, said: str) -> None:
    with pytest.raises(ValueError) as caught:
        instance_type(name)
    assert said in str(caught.value)
    assert len(str(caught.value)) < 600


def test_one_type_with_disks_takes_the_volume_from_all() -> None:
    mixed = ["ml.m5.large", "ml.m5d.large"]
    assert takes_volume(["ml.m5.large"])
    assert not takes_volume(mixed)
    assert not list(volume_warnings(["ml.m5.large"], volume_size_gb=40, encrypted=True))
    assert not list(volume_warnings(mixed, volume_size_gb=None, encrypted=False))
    size, key = volume_warnings(mixed, volume_size_gb=40, encrypted=True)
    assert size == "volume_size_gb = 40 is left out: ml.m5d.large with disks of its own takes none"
    assert key.startswith("the KMS key is not used for the instances' disks: those of ml.m5d.large")


@pytest.mark.parametrize(
    ("types", "alike"),
    [
        (["ml.g6.xlarge"], True),
        (["ml.g6.xlarge", "ml.g6.2xlarge", "ml.g6.4xlarge"], True),
        (["ml.c6i.xlarge", "ml.c5.xlarge", "ml.m5d.xlarge"], True),
        (["ml.g6.xlarge", "ml.g6e.xlarge"], False),
        (["ml.g6.xlarge", "ml.g6.12xlarge"], False),
        (["ml.c6i.xlarge", "ml.c6i.2xlarge"], False),
    ],
)
def test_types_that_scale_on_one_target_should_do_about_the_same_work(types: list[str], alike: bool) -> None:
    warnings = list(unlike_types_warnings(types))
    assert (warnings == []) is alike
    assert all(", ".join(types) in warning for warning in warnings)
