"""The rules of Batch Transform: its limits, its host image, the instance types that it offers."""

from semif.sagemaker.instances import instance_type, instance_types

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


def invocation_seconds(deadline_seconds: float) -> int:
    """How long SageMaker waits for a line that the adapter gives up after `deadline_seconds`."""
    return min(MAX_INVOCATION_SECONDS, int(deadline_seconds) + SPARE_SECONDS)


def type_problem(name: str) -> str | None:
    """What is wrong with the instance type `name` for a transform job, in a line; None where nothing is."""
    try:
        if instance_type(name).transforms:
            return None
    except ValueError as error:
        return f"endpoint: {error}"
    families = dict.fromkeys(known.family for known in instance_types().values() if known.transforms)
    return (
        f"endpoint.instance_type = {name!r}: Batch Transform does not offer it, take one of the families "
        f"{', '.join(families)}"
    )
