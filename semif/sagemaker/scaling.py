"""How many instances a variant may have: the rules that environment files and constructs share."""

from collections.abc import Iterator, Mapping, Sequence

from semif.sagemaker.instances import InstanceType, instance_type


def scaling_problems(
    *,
    asynchronous: bool,
    initial_instance_count: int,
    instance_types: Sequence[str],
    max_instance_count: int,
    min_instance_count: int,
    schedule: Mapping[str, int],
) -> Iterator[str]:
    """What is wrong with the bounds of a variant's scaling, one line for each problem.

    `schedule` raises the fewest instances from a time on. `min_instance_count` stays the fewest of all: what
    else needs to know how few there may be, as an update in steps does, so stays true.

    Only an asynchronous endpoint keeps requests while it has no instance ("Autoscale an asynchronous
    endpoint", SageMaker developer guide); a realtime one scales to zero with inference components alone
    ("Scale an endpoint to zero instances"). Application Auto Scaling registers no burstable type
    ("Automatic scaling of SageMaker models", prerequisites).
    """
    if min_instance_count < 0 or (min_instance_count == 0 and not asynchronous):
        yield (
            f"min_instance_count = {min_instance_count}: a realtime variant keeps at least 1; scaling "
            "to zero needs an asynchronous endpoint, or inference components, which are not used here"
        )
    if max_instance_count < max(min_instance_count, 1):
        yield (
            f"max_instance_count = {max_instance_count}: allowed are {max(min_instance_count, 1)} "
            "(min_instance_count, at least 1) and more"
        )
    elif not min_instance_count <= initial_instance_count <= max_instance_count:
        yield (
            f"initial_instance_count = {initial_instance_count}: allowed are "
            f"{max(min_instance_count, 1)} to {max_instance_count}, the bounds of the scaling"
        )
    for when, count in schedule.items():
        if not min_instance_count <= count <= max_instance_count:
            yield (
                f"schedule: {count} from {when} on: allowed are {min_instance_count} (min_instance_count) to "
                f"{max_instance_count}"
            )
    if burstable := [name for name in instance_types if name.startswith(("ml.t2.", "ml.t3."))]:
        yield f"{', '.join(burstable)} cannot be scaled: SageMaker scales no burstable types, take another"


def unlike_types_warnings(instance_types: Sequence[str]) -> Iterator[str]:
    """That the types of a scaled pool do unlike work, though scaling has one target for all of them.

    Application Auto Scaling counts instances, and so many requests for each; which type each of them is it
    does not see. An L40S (g6e) has 2.9 times the memory bandwidth of an L4 (g6), 864 to 300 GB/s, and 2.9
    times the arithmetic, 366 to 125 TFLOPS in FP16 (NVIDIA's figures, read 2026-11-30). CPU types count as
    alike where they have as many cores: their generations differ by tenths.
    """
    if len({_work_class(instance_type(name)) for name in instance_types}) > 1:
        yield (
            f"one target for {', '.join(instance_types)}, which do unlike work (of GPUs, a g6e about three "
            "times that of a g6); choose what the slowest keeps up with, or keep to types of one size and GPU"
        )


def _work_class(known: InstanceType) -> tuple[str, int]:
    """What types of about the same speed have in common."""
    return (known.family, known.gpus) if known.gpus else ("", known.vcpus)
