"""How many instances a variant has, as its load asks for it."""

from collections.abc import Mapping
from typing import Any

from aws_cdk import Annotations
from aws_cdk import aws_applicationautoscaling as scaling
from constructs import Construct

from semif.errors import ProblemsError
from semif.sagemaker.scaling import scaling_problems, unlike_types_warnings
from semif_constructs.hosting.model_endpoint import ModelEndpoint
from semif_constructs.signals.endpoint_metrics import VARIANT_NAME

_CONCURRENCY = "SageMakerVariantConcurrentRequestsPerModelHighResolution"
"""`ConcurrentRequestsPerModel`, every 10 seconds: requests in a container, those that wait included."""


class VariantScaling(Construct):
    """Bounds on the number of instances of an endpoint's variant, and the policies that move it between them.

    Application Auto Scaling uses its service-linked role, which it makes itself.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        endpoint: ModelEndpoint,
        max_instance_count: int,
        min_instance_count: int,
        schedule: Mapping[str, int] | None = None,
        schedule_timezone: str = "UTC",
    ) -> None:
        """Register the variant. A minimum of 0 is for asynchronous endpoints.

        `schedule` maps expressions of Application Auto Scaling (`cron(0 7 ? * MON-FRI *)`, `at(...)`), in the
        time zone `schedule_timezone`, to the fewest instances from then on. A pool whose types do unlike work
        is warned of.

        Raises ProblemsError with everything that is wrong with the bounds.
        """
        super().__init__(scope, construct_id)
        problems = list(
            scaling_problems(
                asynchronous=endpoint.asynchronous,
                initial_instance_count=endpoint.initial_instance_count,
                instance_types=endpoint.instance_types,
                max_instance_count=max_instance_count,
                min_instance_count=min_instance_count,
                schedule=schedule or {},
            )
        )
        if problems:
            raise ProblemsError(self.node.path, problems)
        for warning in unlike_types_warnings(endpoint.instance_types):
            Annotations.of(self).add_warning_v2("semif:unlikeTypes", warning)
        self.endpoint_name = endpoint.endpoint_name
        self.metrics = endpoint.metrics
        self.min_instance_count = min_instance_count
        self._target = scaling.CfnScalableTarget(
            self,
            "Target",
            max_capacity=max_instance_count,
            min_capacity=min_instance_count,
            resource_id=f"endpoint/{endpoint.endpoint_name}/variant/{VARIANT_NAME}",
            scalable_dimension="sagemaker:variant:DesiredInstanceCount",
            scheduled_actions=_scheduled_actions(schedule or {}, schedule_timezone) or None,
            service_namespace="sagemaker",
        )
        self.node.default_child = self._target
        self._target.node.add_dependency(endpoint.endpoint)

    def track_concurrency(
        self, requests_per_instance: float, *, scale_in_cooldown_seconds: int, scale_out_cooldown_seconds: int
    ) -> None:
        """Keep each container at `requests_per_instance`, at work or waiting, on average."""
        self.add_policy(
            "Concurrency",
            "TargetTrackingScaling",
            target_tracking_scaling_policy_configuration=(
                scaling.CfnScalingPolicy.TargetTrackingScalingPolicyConfigurationProperty(
                    predefined_metric_specification=scaling.CfnScalingPolicy.PredefinedMetricSpecificationProperty(
                        predefined_metric_type=_CONCURRENCY
                    ),
                    scale_in_cooldown=scale_in_cooldown_seconds,
                    scale_out_cooldown=scale_out_cooldown_seconds,
                    target_value=requests_per_instance,
                )
            ),
        )

    def add_policy(
        self, construct_id: str, policy_type: str, **configuration: Any
    ) -> scaling.CfnScalingPolicy:
        """A policy of the variant."""
        return scaling.CfnScalingPolicy(
            self,
            construct_id,
            policy_name=f"{self.endpoint_name}-{construct_id}",
            policy_type=policy_type,
            scaling_target_id=self._target.ref,
            **configuration,
        )


def _scheduled_actions(
    schedule: Mapping[str, int], timezone: str
) -> list[scaling.CfnScalableTarget.ScheduledActionProperty]:
    """An action that sets the fewest instances for each entry, named after its place."""
    target = scaling.CfnScalableTarget
    return [
        target.ScheduledActionProperty(
            scalable_target_action=target.ScalableTargetActionProperty(min_capacity=count),
            schedule=when,
            scheduled_action_name=f"fewest-{number}",
            timezone=timezone,
        )
        for number, (when, count) in enumerate(schedule.items(), start=1)
    ]
