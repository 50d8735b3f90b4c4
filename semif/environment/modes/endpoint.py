"""What the modes with an endpoint have in common: where it is placed, how it scales and moves."""

from collections.abc import Iterator, Mapping
from typing import ClassVar, get_args

from semif.environment.environment_file import EnvironmentFile
from semif.environment.kinds.kind import ServingKind
from semif.environment.modes.mode import InferenceMode
from semif.environment.tables.account import budget_problems
from semif.environment.tables.endpoint import DeploymentTable, ScalingTable
from semif.environment.tables.raw import (
    RawTables,
    default_of,
    instance_types_in,
    number_in,
    table_in,
    typed_in,
)
from semif.sagemaker.container_times import STOP_SECONDS
from semif.sagemaker.placement import placement_problems
from semif.sagemaker.scaling import scaling_problems, unlike_types_warnings
from semif.sagemaker.update_strategies import Strategy, execution_problems, update_problems


class EndpointMode(InferenceMode):
    """A mode with an endpoint."""

    has_endpoint = True
    quota = "endpoint"
    keeps_requests = False
    """Whether requests wait while there is no instance."""
    scaling_target: ClassVar[str]
    """The key of [scaling] that says what an instance is kept up to."""

    def ready(self, endpoint_name: str) -> str:
        """That it is there."""
        return f"{endpoint_name} is in service. Ask it with"

    def placement_problems(self, tables: RawTables, /) -> Iterator[str]:
        """SageMaker's rules for a production variant."""
        return variant_problems(tables)

    def problems(self, tables: RawTables, kind: ServingKind | None, /) -> Iterator[str]:
        """Rules of scaling, of stops and of updates."""
        if "scaling" in tables:
            yield from self.scaling_problems(tables, kind)
        seconds = table_in(tables, "adapter").get("drain_seconds")
        if isinstance(seconds, int | float) and seconds >= STOP_SECONDS:
            yield (
                f"adapter.drain_seconds = {seconds:g}: SageMaker kills a container {STOP_SECONDS} s after it "
                "asked it to stop, and those who still wait must be answered before that; take less"
            )
        yield from endpoint_problems(tables, kind)

    def start_problems(self, file: EnvironmentFile, /) -> Iterator[str]:
        """With a start that takes its longest: it must be over before the end, an update in its time."""
        hours = file.endpoint.expires_after_hours
        if hours is not None and hours * 3600 <= file.longest_start_seconds:
            yield (
                f"endpoint.expires_after_hours = {hours}: the start alone may take "
                f"{file.longest_start_seconds / 3600:.1f} hours; give more"
            )
        if file.deployment is None:
            return
        for problem in execution_problems(
            file.deployment.strategy,
            file.min_instance_count,
            longest_start_seconds=file.longest_start_seconds,
            wait_seconds=file.deployment.wait_seconds,
        ):
            yield f"deployment: {problem}"

    def warnings(self, file: EnvironmentFile, /) -> Iterator[str]:
        """That one target, which nobody chose, is for types that do unlike work; whom a budget may tell."""
        if file.budget is not None and file.alarms is not None and file.alarms.topic_arn is not None:
            yield (
                "budget: the policy of the topic alarms.topic_arn must let budgets.amazonaws.com publish "
                "(sns:Publish), and that of its key use it, or nobody is told"
            )
        scaling = file.scaling
        if scaling is not None and self.scaling_target not in scaling.model_fields_set:
            for warning in unlike_types_warnings(file.endpoint.instance_types):
                yield f"scaling.{self.scaling_target} = {getattr(scaling, self.scaling_target):g}: {warning}"

    def scaling_problems(self, tables: RawTables, _kind: ServingKind | None, /) -> Iterator[str]:
        """Rules of scaling; there is a [scaling]."""
        endpoint, scaling = table_in(tables, "endpoint"), table_in(tables, "scaling")
        if most := typed_in(scaling, "max_instance_count", int):
            for problem in scaling_problems(
                asynchronous=self.keeps_requests,
                initial_instance_count=number_in(endpoint, "initial_instance_count", 1),
                instance_types=instance_types_in(tables),
                max_instance_count=most,
                min_instance_count=_min_instance_count(tables),
                schedule={
                    when: count
                    for when, count in table_in(scaling, "schedule").items()
                    if isinstance(count, int)
                },
            ):
                yield f"scaling: {problem}"


def variant_problems(tables: RawTables) -> Iterator[str]:
    """What is wrong with where the raw tables place a production variant."""
    if not isinstance(tables.get("endpoint"), Mapping):  # reported by the file itself
        return
    endpoint = table_in(tables, "endpoint")
    pool = typed_in(endpoint, "instance_pool", list)
    placement = {
        "instance_type": typed_in(endpoint, "instance_type", str),
        "instance_pool": [item for item in pool if isinstance(item, str)] if pool is not None else None,
        "provision_timeout_seconds": typed_in(endpoint, "provision_timeout_seconds", int),
        "inference_ami_version": typed_in(endpoint, "inference_ami_version", str),
    }
    misread = any(placement[key] is None and key in endpoint for key in ("instance_type", "instance_pool"))
    if not misread:  # the table reports a wrong type; that neither is there would be untrue
        yield from (f"endpoint: {problem}" for problem in placement_problems(**placement))


def endpoint_problems(tables: RawTables, kind: ServingKind | None) -> Iterator[str]:
    """What does not go with an endpoint of whatever mode."""
    yield from _update_problems(tables)
    yield from budget_problems(tables)
    if kind is not None:
        yield from kind.endpoint_problems(tables)


def _update_problems(tables: RawTables) -> Iterator[str]:
    if "deployment" not in tables:
        return
    if "alarms" not in tables:
        yield "deployment: the endpoint moves back on an alarm, and there is no [alarms]; add the table"
    deployment = table_in(tables, "deployment")
    strategy = typed_in(deployment, "strategy", str)
    if strategy not in get_args(Strategy):  # reported by the table itself
        return
    fewest = number_in(table_in(tables, "endpoint"), "initial_instance_count", 1)
    for problem in update_problems(
        instance_count=_min_instance_count(tables) if "scaling" in tables else fewest,
        strategy=strategy,
        wait_seconds=number_in(deployment, "wait_seconds", default_of(DeploymentTable, "wait_seconds")),
    ):
        yield f"deployment: {problem}"


def _min_instance_count(tables: RawTables) -> int:
    key = "min_instance_count"
    count: int = number_in(table_in(tables, "scaling"), key, default_of(ScalingTable, key))
    return count
