"""Alarms on what there is to answer with: instances that are ready, and the queue that waits for them."""

import math
from collections.abc import Sequence

from aws_cdk import aws_cloudwatch as cloudwatch
from constructs import Construct

from semif_adapter.contract import figures
from semif_constructs.hosting.endpoint_base import EndpointBase
from semif_constructs.signals.endpoint_alarm import ABOVE, BELOW, endpoint_alarm
from semif_constructs.signals.endpoint_metrics import MINUTE, EndpointMetrics

PERIODS = 5
SPARE_PERIODS = 10
"""Minutes beyond the longest start, for SageMaker to find an instance."""


class CapacityAlarms(Construct):
    """No healthy instance for 5 minutes, and on asynchronous endpoints a queue that waits too long.

    They wait for the endpoint, which has no instance while it is made.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        adapter: bool,
        alarm_actions: Sequence[cloudwatch.IAlarmAction] = (),
        backlog_age_seconds: int | None = None,
        endpoint: EndpointBase,
        longest_start_seconds: int,
        ok_actions: Sequence[cloudwatch.IAlarmAction] = (),
        scales_to_zero: bool = False,
    ) -> None:
        """Make the alarms for `endpoint`, imported or not, and tell `alarm_actions` and `ok_actions` of them.

        `adapter` says that the container is the adapter, which tells whether its engine is ready; of another
        only whether it runs is known. `backlog_age_seconds` is for an asynchronous endpoint. Where that
        scales to zero, having no instance is wrong only with a queue, and for longer than
        `longest_start_seconds`.
        """
        super().__init__(scope, construct_id)
        metrics = endpoint.metrics
        self._endpoint = endpoint
        self._alarm_actions, self._ok_actions = alarm_actions, ok_actions
        self.alarms: list[cloudwatch.Alarm] = []
        if scales_to_zero:
            self._no_instance_for_queue(metrics, longest_start_seconds)
        else:
            self._no_instance(metrics, adapter)
        if backlog_age_seconds is not None:
            self._backlog_age(metrics, backlog_age_seconds)

    def _no_instance(self, metrics: EndpointMetrics, adapter: bool) -> None:
        if adapter:
            ready = metrics.adapter(figures.ENGINE_READY, statistic="Maximum", period=MINUTE)
        else:
            ready = metrics.instances()
        self._add(
            "no-healthy-instance",
            description="1 while an engine is ready" if adapter else "instances that run",
            metric=ready,
            threshold=1,
            below=True,
            periods=PERIODS,
            missing_is_bad=True,
        )

    def _no_instance_for_queue(self, metrics: EndpointMetrics, longest_start_seconds: int) -> None:
        self._add(
            "no-healthy-instance",
            description="1 while requests wait and there is no instance",
            metric=metrics.queue("HasBacklogWithoutCapacity", statistic="Maximum", period=MINUTE),
            threshold=0,
            periods=math.ceil(longest_start_seconds / 60) + SPARE_PERIODS,
        )

    def _backlog_age(self, metrics: EndpointMetrics, seconds: int) -> None:
        self._add(
            "backlog-age",
            description="age of the oldest waiting request, in seconds",
            metric=metrics.queue("ApproximateAgeOfOldestRequest", statistic="Maximum", period=MINUTE),
            threshold=seconds,
            periods=PERIODS,
        )

    def _add(
        self,
        name: str,
        *,
        below: bool = False,
        description: str,
        metric: cloudwatch.IMetric,
        missing_is_bad: bool = False,
        periods: int,
        threshold: float,
    ) -> None:
        alarm = endpoint_alarm(
            self,
            name,
            alarm_actions=self._alarm_actions,
            comparison=BELOW if below else ABOVE,
            datapoints=periods,
            description=description,
            endpoint_name=self._endpoint.endpoint_name,
            metric=metric,
            missing_is_bad=missing_is_bad,
            ok_actions=self._ok_actions,
            periods=periods,
            threshold=threshold,
        )
        alarm.node.add_dependency(self._endpoint)
        self.alarms.append(alarm)
