"""Where a production variant may be placed: the rules that environment files and constructs share."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from semif.sagemaker.instances import Accelerator, instance_type

CUDA_MAJOR = 13
CUDA_AMI_VERSIONS = ("al2023-ami-sagemaker-inference-gpu-4-1",)
"""Host images (SageMaker's `InferenceAmiVersion`) whose NVIDIA driver runs the CUDA 13 of the published
llama.cpp image. With the default host image of g4dn and g5 the container does not start, or silently runs on
the CPU."""

MAX_POOLS = 5
MAX_VOLUME_GB = 512

MIN_PROVISION_SECONDS, MAX_PROVISION_SECONDS = 300, 3600
"""Bounds of `VariantInstanceProvisionTimeoutInSeconds`: the total time over all types of a pool, after which
the operation fails. A type without capacity is left for the next one at once, not after this time
(https://docs.aws.amazon.com/sagemaker/latest/dg/realtime-endpoints-heterogeneous.html, and "applies only to
capacity provisioning, not to download or start" in the API reference's ProductionVariant; read 2026-11-30).
What it is where it is not set is not documented; AWS's sample `capacity-aware-instance-pool` says 3600."""
POOL_REGIONS = frozenset(
    """
    ap-northeast-1 ap-northeast-2 ap-south-1 ap-southeast-1 ap-southeast-2 ap-southeast-3 ca-central-1
    eu-central-1 eu-central-2 eu-north-1 eu-west-1 eu-west-2 sa-east-1 us-east-1 us-east-2 us-west-2
    """.split()  # noqa: SIM905 - quotes would hide the names
)
POOL_REGIONS_OF = "May 2026"
"""Where SageMaker had instance pools, and when: the table of AWS's sample `capacity-aware-instance-pool` in
aws-samples/sagemaker-genai-hosting-examples, read 2026-11-30. AWS adds
regions, so that one is missing proves nothing."""
ONE_TYPE_PROVISION_SECONDS = 1860
"""How long SageMaker looks for capacity of a single type. No setting bounds it and no document tells; public
notes of deployments report about 31 minutes until the failure (read 2026-11-30, seen by nobody here)."""


def placement_problems(
    *,
    instance_type: str | None,
    instance_pool: Sequence[str] | None,
    provision_timeout_seconds: int | None,
    inference_ami_version: str | None,
) -> Iterator[str]:
    """What is wrong with where a variant is to be placed, one line for each problem; nothing if all is well.

    `instance_pool` holds instance types in order of preference. Its types share one accelerator, and so one
    image, or it begins with types that have NVIDIA GPUs and ends in x86 CPU types, which run another.
    """
    if (instance_type is None) == (instance_pool is None):
        named = "neither" if instance_type is None else "both"
        yield f"exactly one of instance_type and instance_pool is needed, got {named}"
    if provision_timeout_seconds is not None:
        if instance_pool is None:
            yield (
                "provision_timeout_seconds goes with instance_pool only: it is the time to find capacity in "
                "all its types together"
            )
        if not MIN_PROVISION_SECONDS <= provision_timeout_seconds <= MAX_PROVISION_SECONDS:
            yield (
                f"provision_timeout_seconds = {provision_timeout_seconds}: allowed are "
                f"{MIN_PROVISION_SECONDS} to {MAX_PROVISION_SECONDS}"
            )
    if instance_pool is not None:
        if not 1 <= len(instance_pool) <= MAX_POOLS:
            yield f"instance_pool holds {len(instance_pool)} types, allowed are 1 to {MAX_POOLS}"
        if len(set(instance_pool)) != len(instance_pool):
            yield f"instance_pool = {list(instance_pool)}: name each type once, its place is its priority"
    types = [*([instance_type] if instance_type else ()), *(instance_pool or ())]
    yield from _accelerator_problems(types, inference_ami_version)


def fallback_types(names: Sequence[str]) -> tuple[str, ...]:
    """The CPU types that end a pool of GPU types; none where all of `names` have one accelerator.

    They run a Model of their own (`ModelNameOverride` of SageMaker's InstancePool): their image has no CUDA.
    """
    accelerators = {name: instance_type(name).accelerator for name in names}
    if len(set(accelerators.values())) == 1:
        return ()
    return tuple(name for name, accelerator in accelerators.items() if accelerator == "cpu")


def fallback_warnings(names: Sequence[str]) -> Iterator[str]:
    """What is not known of a pool that ends in CPU types, and what is known of their answers."""
    if on_cpu := fallback_types(names):
        yield (
            f"{', '.join(on_cpu)} at the end of the pool: inference_ami_version is one for all types, a host "
            "image with an NVIDIA driver, and AWS's documents do not say that CPU types take it; deploy it "
            "once before you rely on it. Answers from there take several times as long, and differ in their "
            "last digits"
        )


def longest_start_seconds(
    *, download_seconds: int, pool: bool, provision_timeout_seconds: int | None, startup_seconds: int
) -> int:
    """What it may take at most until instances serve, in seconds.

    SageMaker's parts one after the other: finding capacity in the pool, or of the one type; fetching the
    model (`download_seconds`); the container's start (`startup_seconds`).
    """
    provision = (provision_timeout_seconds or MAX_PROVISION_SECONDS) if pool else ONE_TYPE_PROVISION_SECONDS
    return provision + download_seconds + startup_seconds


def pool_region_warning(region: str) -> str | None:
    """A line where instance pools are not known to exist in `region`."""
    if region in POOL_REGIONS:
        return None
    return (
        f"instance_pool: SageMaker had no instance pools in {region} by {POOL_REGIONS_OF}, and refuses the "
        "endpoint where it still has none; write instance_type, or take one of "
        f"{', '.join(sorted(POOL_REGIONS))}"
    )


def fallback_problems(names: Sequence[str], *, has_model: bool) -> Iterator[str]:
    """What is wrong with the Model of the CPU types that end a pool, where there is one or should be."""
    on_cpu = fallback_types(names)
    if on_cpu and not has_model:
        yield f"{', '.join(on_cpu)} at the end of the pool has no GPU, and needs a Model of its own"
    if has_model and not on_cpu:
        yield "a Model for CPU types goes with a pool of GPU types that ends in CPU types only"


def volume_problems(volume_size_gb: int | None) -> Iterator[str]:
    """What is wrong with the size of a variant's volume."""
    if volume_size_gb is not None and not 1 <= volume_size_gb <= MAX_VOLUME_GB:
        yield f"volume_size_gb = {volume_size_gb}: allowed are 1 to {MAX_VOLUME_GB}"


def takes_volume(names: Sequence[str]) -> bool:
    """Whether a variant on any of these instance types gets a volume: the setting is one for all of them."""
    return all(instance_type(name).takes_volume for name in names)


def volume_warnings(names: Sequence[str], *, volume_size_gb: int | None, encrypted: bool) -> Iterator[str]:
    """What a variant on these instance types leaves out because they have disks of their own."""
    with_disks = ", ".join(name for name in names if not instance_type(name).takes_volume)
    if with_disks and volume_size_gb is not None:
        yield f"volume_size_gb = {volume_size_gb} is left out: {with_disks} with disks of its own takes none"
    if with_disks and encrypted:
        yield (
            f"the KMS key is not used for the instances' disks: those of {with_disks} are encrypted by their "
            "own hardware, and SageMaker refuses a key"
        )


def _accelerator_problems(names: Sequence[str], inference_ami_version: str | None) -> Iterator[str]:
    in_order: dict[str, Accelerator] = {}
    for name in names:
        try:
            in_order[name] = instance_type(name).accelerator
        except ValueError as error:
            yield str(error)
    accelerators = set(in_order.values())
    if len(accelerators) > 1 and [kind for kind, _ in groupby(in_order.values())] != ["cuda", "cpu"]:
        mixed = ", ".join(f"{name} ({kind})" for name, kind in in_order.items())
        keep = (
            "CPU types must come last, behind all that have GPUs"
            if accelerators == {"cuda", "cpu"}
            else "keep to one, or let a pool of NVIDIA GPUs end in x86 CPUs"
        )
        yield f"the instance types mix accelerators: {mixed}; {keep}"
    elif "cuda" in accelerators and inference_ami_version not in CUDA_AMI_VERSIONS:
        allowed = " or ".join(CUDA_AMI_VERSIONS)
        value = "missing" if inference_ami_version is None else repr(inference_ami_version)
        yield f"inference_ami_version is {value}: a driver for CUDA {CUDA_MAJOR} is needed, use {allowed}"
    elif accelerators and "cuda" not in accelerators and inference_ami_version is not None:
        yield f"inference_ami_version = {inference_ami_version!r}: only GPU instances take one, remove it"
