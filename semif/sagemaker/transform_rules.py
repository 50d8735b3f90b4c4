"""What an environment of mode batch may say, and what follows from it: the rules of Batch Transform."""

from collections.abc import Iterator, Mapping
from typing import Any

from semif.sagemaker.instances import instance_type, instance_types
from semif.sagemaker.log_groups import TRANSFORM_LOG_GROUP

MAX_INVOCATION_SECONDS = 3600
"""Most of InvocationsTimeoutInSeconds (ModelClientConfig in the SageMaker API reference)."""
SPARE_SECONDS = 60
"""How much sooner the adapter gives a line up than SageMaker: its refusal says why, a time-out does not."""
DEADLINE_SECONDS = float(MAX_INVOCATION_SECONDS - SPARE_SECONDS)
"""What lines get unless the environment gives them less: nobody waits for one, and a job fails with one."""
MAX_INSTANCES = 100
"""Of one job (TransformResources in the SageMaker API reference)."""
GPU_AMI_VERSION = "al2-ami-sagemaker-batch-gpu-535"
"""The newest host image of transform jobs (TransformAmiVersion, same place)."""

GPU_DRIVER_WARNING = (
    f"the hosts of transform jobs have NVIDIA's driver 535 at most ({GPU_AMI_VERSION}), older than CUDA 13's "
    "own: the container starts only with CUDA's compatibility libraries, which nobody has seen; try a short "
    "file first, the adapter refuses to start without its GPU"
)
LOG_WARNING = (
    "log_retention_days and the KMS key do not reach the containers' log: jobs write to "
    f"{TRANSFORM_LOG_GROUP}, which all jobs of the account share"
)
_NO_ENDPOINT = "a transform job has its instances for as long as it runs, and there is no endpoint"
_TABLES = {
    "async": "its files are kept for 30 days",
    "scaling": "give initial_instance_count, or --instances to a job",
    "deployment": "a new model is simply the next job's",
    "alarms": "a job tells how it ended",
}
_HAS_NONE = "Batch Transform has no such setting"
_KEYS = {
    "instance_pool": "a transform job takes one type, write instance_type",
    "startup_timeout_seconds": _HAS_NONE,
    "model_download_timeout_seconds": _HAS_NONE,
    "volume_size_gb": "Batch Transform sizes the volumes itself",
    "inference_ami_version": f"jobs on GPUs take {GPU_AMI_VERSION}",
}


NOT_IN_BATCH = frozenset(f"endpoint.{key}" for key in _KEYS)
"""Keys that the mode does not take."""


def batch_problems(tables: Mapping[str, Any]) -> Iterator[str]:
    """What of the raw tables does not go with mode batch, one line for each problem."""
    mode = "endpoint.mode = 'batch'"
    if tables.get("kind") == "text":
        yield (
            f"{mode} does not go with kind = 'text': a line that the published container refuses ends the "
            "job, and its file's answers are lost; write mode = 'async', or kind = 'decision'"
        )
    for name, instead in _TABLES.items():
        if name in tables:
            yield f"[{name}] does not go with {mode}: {_NO_ENDPOINT}; remove it, {instead}"
    endpoint, model = tables["endpoint"], tables.get("model")
    for key, reason in _KEYS.items():
        if key in endpoint:
            yield f"endpoint.{key} does not go with {mode}: {reason}; remove it"
    if isinstance(model, Mapping) and model.get("format") == "prefix":
        # https://github.com/aws/sagemaker-python-sdk/issues/4777
        yield (
            f"model.format = 'prefix' does not go with {mode}: CreateTransformJob refuses a Model with a "
            "ModelDataSource; remove it, an archive is the default"
        )
    name, count = endpoint.get("instance_type"), endpoint.get("initial_instance_count")
    if isinstance(name, str):
        yield from _type_problems(name)
    elif name is None and "instance_pool" not in endpoint:
        yield "endpoint.instance_type is missing; a transform job takes one type"
    if isinstance(count, int) and count > MAX_INSTANCES:
        yield f"endpoint.initial_instance_count = {count}: a transform job has at most {MAX_INSTANCES}"
    adapter = tables.get("adapter")
    seconds = adapter.get("deadline_seconds") if isinstance(adapter, Mapping) else None
    if isinstance(seconds, int | float) and seconds > DEADLINE_SECONDS:
        yield (
            f"adapter.deadline_seconds = {seconds:g}: SageMaker waits {MAX_INVOCATION_SECONDS} s for a line, "
            f"and the adapter must refuse before that; allowed are up to {DEADLINE_SECONDS:g}"
        )


def invocation_seconds(deadline_seconds: float) -> int:
    """How long SageMaker waits for a line that the adapter gives up after `deadline_seconds`."""
    return min(MAX_INVOCATION_SECONDS, int(deadline_seconds) + SPARE_SECONDS)


def _type_problems(name: str) -> Iterator[str]:
    try:
        if instance_type(name).transforms:
            return
    except ValueError as error:
        yield f"endpoint: {error}"
        return
    families = dict.fromkeys(known.family for known in instance_types().values() if known.transforms)
    yield (
        f"endpoint.instance_type = {name!r}: Batch Transform does not offer it, take one of the families "
        f"{', '.join(families)}"
    )
