"""What a SageMaker instance type is: processor, memory, GPUs and disk, from the table `instance_types.csv`.

The table names its sources. Which accelerator a type is follows from it: GPUs make CUDA, Arm makes Graviton.
"""

import csv
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal

from semif.errors import shown

Accelerator = Literal["cpu", "graviton", "cuda"]
"""What the container's llama.cpp runs on: x86 cores, Arm cores, or an NVIDIA GPU beside x86 cores."""

UNSUPPORTED_FAMILIES = {
    "p2": "its GPU is older than Turing, which CUDA 13 no longer supports",
    "p3": "its GPU is older than Turing, which CUDA 13 no longer supports",
    "p6e-gb200": "the published images have no CUDA build for Arm",
    "inf1": "llama.cpp does not run on Inferentia",
    "inf2": "llama.cpp does not run on Inferentia",
    "trn1": "llama.cpp does not run on Trainium",
    "trn1n": "llama.cpp does not run on Trainium",
    "trn2": "llama.cpp does not run on Trainium",
    "dl1": "llama.cpp does not run on Gaudi",
}
"""Families of SageMaker hosting that the table leaves out, each with the reason."""

PRICES_OF = "us-east-1, September 2026"
"""Where and when the newest of the table's prices held."""

_MIB = 1024 * 1024


@dataclass(frozen=True)
class InstanceType:
    """One row of the table."""

    name: str
    """As SageMaker has it: `ml.c6i.large`."""
    architecture: Literal["x86_64", "arm64"]
    vcpus: int
    memory_bytes: int
    gpus: int
    gpu_memory_bytes: int
    """Of all its GPUs together."""
    local_disk_gb: int
    """NVMe disks of its own; 0: it has none and takes a volume."""
    transforms: bool
    """Whether Batch Transform offers it."""
    usd_per_hour: float | None
    """On demand in us-east-1, at the time of `PRICES_OF`; None: no price is known here."""

    @property
    def family(self) -> str:
        """`c6i` of `ml.c6i.large`."""
        return self.name.split(".")[1]

    @property
    def accelerator(self) -> Accelerator:
        """What llama.cpp runs on there."""
        if self.gpus:
            return "cuda"
        return "graviton" if self.architecture == "arm64" else "cpu"

    @property
    def takes_volume(self) -> bool:
        """Whether SageMaker attaches a volume, whose size and key may be chosen.

        A type with disks of its own uses those, encrypted by their own hardware, and CreateEndpointConfig
        refuses a KMS key for it (SageMaker's API reference, `KmsKeyId`).
        """
        return not self.local_disk_gb


@cache
def instance_types() -> dict[str, InstanceType]:
    """Every type that can be used, by name."""
    text = (files("semif.sagemaker") / "instance_types.csv").read_text(encoding="utf-8")
    rows = csv.DictReader(line for line in text.splitlines() if not line.startswith("#"))
    types = (
        InstanceType(
            name=row["instance_type"],
            architecture="arm64" if row["architecture"] == "arm64" else "x86_64",
            vcpus=int(row["vcpus"]),
            memory_bytes=int(row["memory_mib"]) * _MIB,
            gpus=int(row["gpus"]),
            gpu_memory_bytes=int(row["gpu_memory_mib"]) * _MIB,
            local_disk_gb=int(row["local_disk_gb"]),
            transforms=row["transform"] == "1",
            usd_per_hour=float(row["usd_per_hour"]) if row["usd_per_hour"] else None,
        )
        for row in rows
    )
    return {instance.name: instance for instance in types}


def instance_type(name: str) -> InstanceType:
    """The type `name`, such as `ml.c6i.8xlarge`.

    Raises ValueError, with the reason and the known names, for anything that the table does not hold.
    """
    table = instance_types()
    if name in table:
        return table[name]
    prefix, _, rest = name.partition(".")
    family, _, size = rest.partition(".")
    if prefix != "ml" or not family or not size:
        raise ValueError(f"{shown(name)} is not an instance type, write ml.FAMILY.SIZE, as in ml.c6i.8xlarge")
    if family in UNSUPPORTED_FAMILIES:
        raise ValueError(f"{shown(name)} cannot serve these models: {UNSUPPORTED_FAMILIES[family]}")
    relatives = [known for known in table if known.startswith(f"ml.{family}.")]
    if relatives:
        raise ValueError(f"{shown(name)} is not known, of family {family} there are {', '.join(relatives)}")
    families = dict.fromkeys(known.family for known in table.values())
    raise ValueError(f"{shown(name)} is of no known instance family, known are {', '.join(families)}")


def accelerator_of(name: str) -> Accelerator:
    """The accelerator of the instance type `name`. Raises ValueError as `instance_type` does."""
    return instance_type(name).accelerator
