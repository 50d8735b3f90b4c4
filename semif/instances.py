"""What a SageMaker instance type can run: the rules of placement, shared by environment files and constructs.

Sources: the families are those of botocore's `ProductionVariantInstanceType` (a test compares them); which
family has which processor is EC2's instance type naming; CUDA 13 no longer supports GPUs before Turing, which
rules out p2 and p3; the AMI names and their CUDA generation are SageMaker's `InferenceAmiVersion`.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Literal

Accelerator = Literal["cpu", "graviton", "cuda"]
"""What the container's llama.cpp runs on: x86 cores, Arm cores, or an NVIDIA GPU beside x86 cores."""

# fmt: off
_FAMILIES: dict[Accelerator, tuple[str, ...]] = {
    "cpu": (
        "t2", "m4", "m5", "m5d", "m6i", "m7i", "c4", "c5", "c5d", "c6i", "c6in", "c7i",
        "r5", "r5d", "r6i", "r7i",
    ),
    "graviton": (
        "m6g", "m6gd", "m8g", "c6g", "c6gd", "c6gn", "c7g", "c8g", "r6g", "r6gd", "r7gd", "r8g",
    ),
    "cuda": (
        "g4dn", "g5", "g6", "g6e", "g7", "g7e", "p4d", "p4de", "p5", "p5e", "p5en", "p6-b200", "p6-b300",
    ),
}
# fmt: on
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
ACCELERATOR_OF_FAMILY: dict[str, Accelerator] = {
    family: accelerator for accelerator, families in _FAMILIES.items() for family in families
}

CUDA_MAJOR = 13
CUDA_AMI_VERSIONS = ("al2023-ami-sagemaker-inference-gpu-4-1",)
"""Host images whose NVIDIA driver runs the CUDA 13 of the published llama.cpp image. With the default host
image of g4dn and g5 the container does not start, or silently runs on the CPU."""

MAX_POOLS = 5
_INSTANCE_TYPE = re.compile(r"ml\.([a-z0-9-]+)\.(?:medium|large|[0-9]*xlarge)")


def accelerator_of(instance_type: str) -> Accelerator:
    """The accelerator of a SageMaker instance type such as `ml.c6i.8xlarge`.

    Raises ValueError, with the reason, for anything that is no instance type or that llama.cpp cannot use.
    """
    match = _INSTANCE_TYPE.fullmatch(instance_type)
    if match is None:
        raise ValueError(
            f"{instance_type!r} is not an instance type, write ml.FAMILY.SIZE, as in ml.c6i.8xlarge"
        )
    family = match[1]
    if family in UNSUPPORTED_FAMILIES:
        raise ValueError(f"{instance_type} cannot serve these models: {UNSUPPORTED_FAMILIES[family]}")
    if family not in ACCELERATOR_OF_FAMILY:
        known = ", ".join(ACCELERATOR_OF_FAMILY)
        raise ValueError(f"{instance_type} is of no known instance family, known are {known}")
    return ACCELERATOR_OF_FAMILY[family]


def placement_problems(
    *,
    instance_type: str | None,
    instance_pool: Sequence[str] | None,
    provision_timeout_seconds: int | None,
    inference_ami_version: str | None,
) -> Iterator[str]:
    """What is wrong with where a variant is to be placed, one line for each problem; nothing if all is well.

    `instance_pool` holds instance types in order of preference. Its types must share one accelerator, because
    all of them run the same image.
    """
    if (instance_type is None) == (instance_pool is None):
        given = "neither" if instance_type is None else "both"
        yield f"exactly one of instance_type and instance_pool is needed, got {given}"
    if provision_timeout_seconds is not None:
        if instance_pool is None:
            yield "provision_timeout_seconds goes with instance_pool only: it is when the next pool is tried"
        if not 300 <= provision_timeout_seconds <= 3600:
            yield f"provision_timeout_seconds = {provision_timeout_seconds}: allowed are 300 to 3600"
    if instance_pool is not None:
        if not 1 <= len(instance_pool) <= MAX_POOLS:
            yield f"instance_pool holds {len(instance_pool)} types, allowed are 1 to {MAX_POOLS}"
        if len(set(instance_pool)) != len(instance_pool):
            yield f"instance_pool = {list(instance_pool)}: name each type once, its place is its priority"
    types = [*([instance_type] if instance_type else ()), *(instance_pool or ())]
    yield from _accelerator_problems(types, inference_ami_version)


def _accelerator_problems(types: Sequence[str], inference_ami_version: str | None) -> Iterator[str]:
    accelerators: dict[Accelerator, str] = {}
    for instance_type in types:
        try:
            accelerators.setdefault(accelerator_of(instance_type), instance_type)
        except ValueError as error:
            yield str(error)
    if len(accelerators) > 1:
        mixed = ", ".join(f"{instance_type} ({kind})" for kind, instance_type in accelerators.items())
        yield f"the instance types mix accelerators: {mixed}; all run the same image, keep to one"
    elif "cuda" in accelerators and inference_ami_version not in CUDA_AMI_VERSIONS:
        allowed = " or ".join(CUDA_AMI_VERSIONS)
        given = "missing" if inference_ami_version is None else repr(inference_ami_version)
        yield f"inference_ami_version is {given}: a driver for CUDA {CUDA_MAJOR} is needed, use {allowed}"
    elif accelerators and "cuda" not in accelerators and inference_ami_version is not None:
        yield f"inference_ami_version = {inference_ami_version!r}: only GPU instances take one, remove it"
