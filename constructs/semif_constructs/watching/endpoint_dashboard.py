"""One page that says how an endpoint does."""

from collections.abc import Sequence

from aws_cdk import aws_cloudwatch as cloudwatch
from constructs import Construct

from semif_adapter.contract import figures
from semif_constructs.signals.endpoint_metrics import MICROSECONDS, EndpointMetrics, figure

WIDTH, HEIGHT = 8, 6
"""Three graphs beside each other: a row has 24 columns."""


class EndpointDashboard(Construct):
    """Alarms, traffic, faults and refusals, where the time goes, tokens, cache, instances, GPUs; or a queue.

    Times are in seconds, over five minutes.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        adapter: bool,
        alarms: Sequence[cloudwatch.IAlarm] = (),
        asynchronous: bool = False,
        gpu: bool,
        metrics: EndpointMetrics,
    ) -> None:
        """Make the dashboard, named after the endpoint.

        `adapter` says that the container is the adapter, whose figures are shown beside SageMaker's; `gpu`,
        that the instances have GPUs.
        """
        super().__init__(scope, construct_id)
        self._metrics = metrics
        graphs: list[cloudwatch.IWidget] = [
            *([self._queue()] if asynchronous else [self._traffic()]),
            self._faults(adapter),
            *([self._split(asynchronous)] if adapter else []),
            *([] if asynchronous else [self._latency()]),
            *([self._tokens(), self._cache(), self._certainty()] if adapter else []),
            self._instances(adapter),
            self._use(),
            *([self._gpus()] if gpu else []),
        ]
        rows = [graphs[i : i + 3] for i in range(0, len(graphs), 3)]
        if alarms:
            status = cloudwatch.AlarmStatusWidget(alarms=list(alarms), height=3, title="Alarms", width=24)
            rows.insert(0, [status])
        self.dashboard = cloudwatch.Dashboard(
            self, "Dashboard", dashboard_name=metrics.endpoint_name, widgets=rows
        )
        self.node.default_child = self.dashboard.node.default_child

    def _traffic(self) -> cloudwatch.GraphWidget:
        invocations = self._metrics.variant("Invocations", statistic="Sum")
        concurrent = self._metrics.variant("ConcurrentRequestsPerModel", statistic="Maximum")
        return _graph("Requests in five minutes, and at once", [invocations], right=[concurrent])

    def _queue(self) -> cloudwatch.GraphWidget:
        backlog = self._metrics.queue("ApproximateBacklogSize", statistic="Maximum")
        age = self._metrics.queue("ApproximateAgeOfOldestRequest", statistic="Maximum")
        return _graph("Requests at work or waiting, and the oldest one's seconds", [backlog], right=[age])

    def _faults(self, adapter: bool) -> cloudwatch.GraphWidget:
        names = ("Invocation4XXErrors", "Invocation5XXErrors")
        faults = [self._metrics.variant(name, statistic="Sum") for name in names]
        refusals = [self._metrics.adapter(figures.OVERLOADS, statistic="Sum")] if adapter else []
        return _graph("Faults and refusals in five minutes", [*faults, *refusals])

    def _split(self, asynchronous: bool) -> cloudwatch.GraphWidget:
        """Means, which add up. Of asynchronous endpoints SageMaker does not publish its own part."""
        overhead = self._metrics.variant("OverheadLatency", statistic="Average")
        queue = self._metrics.adapter(figures.QUEUE_SECONDS, statistic="Average")
        score = self._metrics.adapter(figures.SCORE_SECONDS, statistic="Average")
        parts: list[cloudwatch.IMetric] = [
            *([] if asynchronous else [_seconds(overhead, "platform")]),
            queue.with_(label="queue"),
            score.with_(label="model"),
        ]
        return _graph("Where a request's seconds go (mean)", parts, stacked=True)

    def _latency(self) -> cloudwatch.GraphWidget:
        shown = [
            _seconds(self._metrics.variant("ModelLatency", statistic=statistic), statistic)
            for statistic in ("p50", "p95", "p99")
        ]
        return _graph("Seconds in the container, waiting included", shown)

    def _tokens(self) -> cloudwatch.GraphWidget:
        computed = [
            self._tokens_of(figures.PREFILL_TOKENS),
            self._tokens_of(figures.SUFFIX_TOKENS),
        ]
        rate = figure(
            "(prefill + suffix) / PERIOD(suffix)", label="computed", prefill=computed[0], suffix=computed[1]
        )
        able = self._metrics.adapter(figures.TOKENS_PER_SECOND, statistic="Average")
        return _graph("Tokens a second", [rate, able.with_(label="what one engine computes at full load")])

    def _cache(self) -> cloudwatch.GraphWidget:
        share = figure(
            "100 * cached / (cached + prefill + suffix)",
            label="tokens from the cache, percent",
            cached=self._tokens_of(figures.CACHED_TOKENS),
            prefill=self._tokens_of(figures.PREFILL_TOKENS),
            suffix=self._tokens_of(figures.SUFFIX_TOKENS),
        )
        return _graph("Cache hits", [share], most=100)

    def _tokens_of(self, metric: figures.Metric) -> cloudwatch.Metric:
        return self._metrics.adapter(metric, statistic="Sum")

    def _certainty(self) -> cloudwatch.GraphWidget:
        mass = [
            self._metrics.adapter(figures.ALLOWED_TOKEN_MASS, statistic=statistic)
            for statistic in ("Average", "p10")
        ]
        return _graph("Probability on the answer letters (mean, p10)", mass, most=1)

    def _instances(self, adapter: bool) -> cloudwatch.GraphWidget:
        running = self._metrics.instances().with_(label="instances")
        depth = self._metrics.adapter(figures.QUEUE_DEPTH, statistic="Maximum")
        waiting = [depth.with_(label="longest queue in one of them")] if adapter else []
        return _graph("Instances", [running, *waiting])

    def _use(self) -> cloudwatch.GraphWidget:
        names = ("CPUUtilization", "MemoryUtilization", "DiskUtilization")
        used = [self._metrics.instance(name, statistic="Average") for name in names]
        return _graph("CPU (100 for each), memory and disk, percent", used)

    def _gpus(self) -> cloudwatch.GraphWidget:
        names = ("GPUUtilization", "GPUMemoryUtilization")
        used = [self._metrics.instance(name, statistic="Average") for name in names]
        return _graph("GPU use and memory, percent (100 for each)", used)


def _seconds(metric: cloudwatch.Metric, label: str) -> cloudwatch.MathExpression:
    return cloudwatch.MathExpression(
        expression=f"{label} / {MICROSECONDS:.0f}", label=label, using_metrics={label: metric}
    )


def _graph(
    title: str,
    left: Sequence[cloudwatch.IMetric],
    *,
    most: float | None = None,
    right: Sequence[cloudwatch.IMetric] = (),
    stacked: bool = False,
) -> cloudwatch.GraphWidget:
    return cloudwatch.GraphWidget(
        height=HEIGHT,
        left=list(left),
        left_y_axis=cloudwatch.YAxisProps(max=most, min=0, show_units=False),
        right=list(right),
        stacked=stacked,
        title=title,
        width=WIDTH,
    )
