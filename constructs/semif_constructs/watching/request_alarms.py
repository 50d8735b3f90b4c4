"""Alarms on what becomes of requests. A bad change trips them, so that an update can go back on them."""

from collections.abc import Sequence

from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_iam as iam
from constructs import Construct

from semif.sagemaker.update_strategies import ALARM_SECONDS, ROLLBACK_ALARMS
from semif_adapter.contract import figures
from semif_constructs.signals.endpoint_alarm import ABOVE, BELOW, endpoint_alarm
from semif_constructs.signals.endpoint_metrics import MICROSECONDS, MINUTE, EndpointMetrics, figure

PERIODS = ALARM_SECONDS // 60
DATAPOINTS = 3


class RequestAlarms(Construct):
    """Faults, refusals, latency and certainty, each for 3 of the last 5 minutes. No traffic is no alarm.

    They need no endpoint, only its name: it can so refer to them. An asynchronous endpoint publishes neither
    latencies of interest nor its number of requests; its queue is for `CapacityAlarms`.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        alarm_actions: Sequence[cloudwatch.IAlarmAction] = (),
        asynchronous: bool = False,
        error_percent: float,
        metrics: EndpointMetrics,
        min_allowed_token_mass: float | None = None,
        model_p95_seconds: float,
        ok_actions: Sequence[cloudwatch.IAlarmAction] = (),
        overhead_seconds: float,
        refusal_percent: float | None = None,
    ) -> None:
        """Make the alarms. `alarm_actions` are told when one goes off, `ok_actions` when it is well again.

        `refusal_percent` says that the container is the adapter, which counts its refusals; None: it is
        another. `min_allowed_token_mass` (0 to 1) is for models that answer with letters.
        """
        super().__init__(scope, construct_id)
        self._metrics = metrics
        self._alarm_actions, self._ok_actions = alarm_actions, ok_actions
        self.alarms: list[cloudwatch.Alarm] = []
        self.rollback_alarms: list[cloudwatch.Alarm] = []
        """Those that a new model, image or placement can trip."""
        if refusal_percent is None:
            self._container_errors(error_percent)
        else:
            self._adapter_errors(error_percent)
            self._refusals(refusal_percent)
        self._platform_errors(error_percent, asynchronous)
        if not asynchronous:
            self._model_latency(model_p95_seconds)
            self._overhead_latency(overhead_seconds)
        if min_allowed_token_mass is not None:
            self._allowed_token_mass(min_allowed_token_mass)

    def grant_describe(self, grantee: iam.IGrantable) -> iam.Grant:
        """Let `grantee` see the state of the alarms that an update goes back on."""
        return iam.Grant.add_to_principal(
            grantee=grantee,
            actions=["cloudwatch:DescribeAlarms"],
            resource_arns=[alarm.alarm_arn for alarm in self.rollback_alarms],
        )

    def _adapter_errors(self, percent: float) -> None:
        requests = self._requests()
        share = figure(
            "100 * (failed - refused) / (good + wrong + failed)",
            label="faults of the container, percent",
            period=MINUTE,
            refused=self._adapter(figures.OVERLOADS),
            **requests,
        )
        self._add(
            "container-errors", share, percent, "requests that the adapter answered with a fault, in percent"
        )

    def _container_errors(self, percent: float) -> None:
        failed = self._metrics.variant("Invocation5XXErrors", statistic="Average", period=MINUTE)
        share = figure("100 * failed", label="faults of the container, percent", period=MINUTE, failed=failed)
        self._add(
            "container-errors", share, percent, "requests that the container answered with 5xx, in percent"
        )

    def _refusals(self, percent: float) -> None:
        share = figure(
            "100 * refused / (good + wrong + failed)",
            label="refusals, percent",
            period=MINUTE,
            refused=self._adapter(figures.OVERLOADS),
            **self._requests(),
        )
        self._add("refusals", share, percent, "requests refused for lack of room or time, in percent")

    def _platform_errors(self, percent: float, asynchronous: bool) -> None:
        """Requests that got no answer from the container: broken connections, time-outs."""
        names = (
            {"failed": "InvocationFailures", "wrong": "Invocation4XXErrors", "total": "InvocationsProcessed"}
            if asynchronous
            else {"failed": "InvocationModelErrors", "wrong": "Invocation4XXErrors", "total": "Invocations"}
        )
        using = {
            key: self._metrics.variant(name, statistic="Sum", period=MINUTE)
            for key, name in {**names, "broken": "Invocation5XXErrors"}.items()
        }
        share = figure(
            "100 * (FILL(failed, 0) - FILL(wrong, 0) - FILL(broken, 0)) / total",
            label="faults of the platform, percent",
            period=MINUTE,
            **using,
        )
        self._add(
            "platform-errors", share, percent, "requests that got no answer from the container, in percent"
        )

    def _model_latency(self, seconds: float) -> None:
        latency = self._metrics.variant("ModelLatency", statistic="p95", period=MINUTE)
        self._add(
            "model-latency",
            latency,
            seconds * MICROSECONDS,
            f"the container's time in microseconds, 95th percentile, over {seconds:g} s",
        )

    def _overhead_latency(self, seconds: float) -> None:
        """The mean: SageMaker lists no percentiles for this one. No change of ours makes it longer."""
        latency = self._metrics.variant("OverheadLatency", statistic="Average", period=MINUTE)
        self._add(
            "overhead-latency",
            latency,
            seconds * MICROSECONDS,
            f"SageMaker's own time in microseconds, mean, over {seconds:g} s",
        )

    def _allowed_token_mass(self, least: float) -> None:
        mass = self._adapter(figures.ALLOWED_TOKEN_MASS, statistic="Average")
        self._add(
            "allowed-token-mass", mass, least, "mean probability on the answer letters", comparison=BELOW
        )

    def _adapter(self, metric: figures.Metric, statistic: str = "Sum") -> cloudwatch.Metric:
        return self._metrics.adapter(metric, statistic=statistic, period=MINUTE)

    def _requests(self) -> dict[str, cloudwatch.Metric]:
        return {
            "good": self._adapter(figures.REQUESTS_2XX),
            "wrong": self._adapter(figures.REQUESTS_4XX),
            "failed": self._adapter(figures.REQUESTS_5XX),
        }

    def _add(
        self,
        name: str,
        metric: cloudwatch.IMetric,
        threshold: float,
        description: str,
        *,
        comparison: cloudwatch.ComparisonOperator = ABOVE,
    ) -> None:
        alarm = endpoint_alarm(
            self,
            name,
            alarm_actions=self._alarm_actions,
            comparison=comparison,
            datapoints=DATAPOINTS,
            description=description,
            endpoint_name=self._metrics.endpoint_name,
            metric=metric,
            ok_actions=self._ok_actions,
            periods=PERIODS,
            threshold=threshold,
        )
        self.alarms.append(alarm)
        if name in ROLLBACK_ALARMS:
            self.rollback_alarms.append(alarm)
