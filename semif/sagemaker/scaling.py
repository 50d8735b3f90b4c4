"""How many instances a variant may have: the rules that environment files and constructs share."""

from collections.abc import Iterator, Sequence


def scaling_problems(
    *,
    asynchronous: bool,
    initial_instance_count: int,
    instance_types: Sequence[str],
    max_instance_count: int,
    min_instance_count: int,
) -> Iterator[str]:
    """What is wrong with the bounds of a variant's scaling, one line for each problem.

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
    if burstable := [name for name in instance_types if name.startswith(("ml.t2.", "ml.t3."))]:
        yield f"{', '.join(burstable)} cannot be scaled: SageMaker scales no burstable types, take another"
