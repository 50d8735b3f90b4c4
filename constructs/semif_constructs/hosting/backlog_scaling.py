"""Scaling an asynchronous endpoint by its queue, down to zero.

A target for the backlog alone would not do: with no instance there is no backlog per instance ("Autoscale an
asynchronous endpoint", SageMaker developer guide), and the last instance must not go while it works.
"""

import math
from typing import cast

from aws_cdk import aws_applicationautoscaling as scaling
from aws_cdk import aws_cloudwatch as cloudwatch
from constructs import Construct

from semif_constructs.hosting.variant_scaling import VariantScaling
from semif_constructs.signals.endpoint_alarm import ABOVE, BELOW, endpoint_alarm
from semif_constructs.signals.endpoint_metrics import MINUTE, figure

_Step = scaling.CfnScalingPolicy.StepAdjustmentProperty
_LEAST_IDLE_MINUTES = 5


class BacklogScaling(Construct):
    """Steps on the backlog for each instance, which counts requests at work and in the queue.

    Over the target: as many instances again, or four times as many where it is over the target three times.
    Under half of it: one less, but never the last. Empty for as long as the scale-in cooldown and longer than
    any request may work: the minimum. With no instance, the first request starts one.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        backlog_per_instance: float,
        invocation_timeout_seconds: int,
        scale_in_cooldown_seconds: int,
        scale_out_cooldown_seconds: int,
        variant_scaling: VariantScaling,
    ) -> None:
        """Add the policies to `variant_scaling`, and the alarms that set them off.

        `invocation_timeout_seconds` is the longest that a request may work in a container. Nowhere does
        SageMaker say that an instance ends its work before it goes, and its count of the backlog is an
        approximate one: so a queue is only empty when it has been for that long.
        """
        super().__init__(scope, construct_id)
        self._scaling = variant_scaling
        metrics = variant_scaling.metrics
        per_instance = metrics.queue("ApproximateBacklogSizePerInstance", statistic="Average", period=MINUTE)
        backlog = metrics.queue("ApproximateBacklogSize", statistic="Maximum", period=MINUTE)
        self._step(
            "scale-out",
            per_instance,
            threshold=backlog_per_instance,
            periods=2,
            adjustment="PercentChangeInCapacity",
            cooldown=scale_out_cooldown_seconds,
            steps=[
                _Step(
                    metric_interval_lower_bound=0,
                    metric_interval_upper_bound=2 * backlog_per_instance,
                    scaling_adjustment=100,
                ),
                _Step(metric_interval_lower_bound=2 * backlog_per_instance, scaling_adjustment=300),
            ],
        )
        self._step(
            "scale-in",
            figure(
                f"IF(per_instance < {backlog_per_instance / 2:g} AND backlog > per_instance, 1, 0)",
                label="1 while several instances have little to do",
                period=MINUTE,
                per_instance=per_instance,
                backlog=metrics.queue("ApproximateBacklogSize", statistic="Average", period=MINUTE),
            ),
            threshold=0,
            periods=5,
            adjustment="ChangeInCapacity",
            cooldown=scale_in_cooldown_seconds,
            steps=[_Step(metric_interval_lower_bound=0, scaling_adjustment=-1)],
        )
        self._step(
            "idle",
            backlog,
            below=True,
            threshold=1,
            periods=_idle_minutes(scale_in_cooldown_seconds, invocation_timeout_seconds),
            adjustment="ExactCapacity",
            cooldown=scale_in_cooldown_seconds,
            steps=[
                _Step(metric_interval_upper_bound=0, scaling_adjustment=variant_scaling.min_instance_count)
            ],
        )
        if variant_scaling.min_instance_count == 0:
            self._step(
                "scale-from-zero",
                metrics.queue("HasBacklogWithoutCapacity", statistic="Maximum", period=MINUTE),
                threshold=0,
                periods=1,
                adjustment="ExactCapacity",  # told again and again until the instance is there
                cooldown=scale_out_cooldown_seconds,
                steps=[_Step(metric_interval_lower_bound=0, scaling_adjustment=1)],
            )

    def _step(
        self,
        name: str,
        metric: cloudwatch.IMetric,
        *,
        adjustment: str,
        below: bool = False,
        cooldown: int,
        periods: int,
        steps: list[scaling.CfnScalingPolicy.StepAdjustmentProperty],
        threshold: float,
    ) -> None:
        policy = self._scaling.add_policy(
            name.title().replace("-", ""),
            "StepScaling",
            step_scaling_policy_configuration=scaling.CfnScalingPolicy.StepScalingPolicyConfigurationProperty(
                adjustment_type=adjustment,
                cooldown=cooldown,
                metric_aggregation_type="Average",
                min_adjustment_magnitude=1 if adjustment == "PercentChangeInCapacity" else None,
                step_adjustments=steps,
            ),
        )
        alarm = endpoint_alarm(
            self,
            name,
            comparison=BELOW if below else ABOVE,
            datapoints=periods,
            description="sets the number of instances, and is no trouble",
            endpoint_name=self._scaling.endpoint_name,
            metric=metric,
            periods=periods,
            threshold=threshold,
        )
        # The CDK's action for a scaling policy wants a policy of its own making.
        cast(cloudwatch.CfnAlarm, alarm.node.default_child).alarm_actions = [policy.ref]


def _idle_minutes(scale_in_cooldown_seconds: int, invocation_timeout_seconds: int) -> int:
    return max(
        _LEAST_IDLE_MINUTES, math.ceil(max(scale_in_cooldown_seconds, invocation_timeout_seconds) / 60)
    )
