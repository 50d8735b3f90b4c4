"""What CloudWatch knows of an endpoint: SageMaker's metrics, and those that the adapter writes into its log.

The adapter's names come from `semif_adapter.contract.figures`, SageMaker's from its developer guide ("Metrics
for monitoring Amazon SageMaker AI with Amazon CloudWatch", "Alarms and logs for tracking metrics from
asynchronous endpoints").
"""

from typing import TypedDict, Unpack

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch

from semif_adapter.contract import figures

VARIANT_NAME = "AllTraffic"
MICROSECONDS = 1e6
"""SageMaker's latencies are in microseconds; a second has this many."""
MINUTE = Duration.minutes(1)
"""The shortest period of SageMaker's metrics, and that of the alarms."""


class MetricOptions(TypedDict, total=False):
    """How a metric is looked at: the options of the CDK's own metrics, which have their defaults too."""

    account: str
    color: str
    label: str
    period: Duration
    """Five minutes, unless it says otherwise."""
    region: str
    statistic: str
    """The mean, unless it says otherwise."""
    unit: cloudwatch.Unit


class EndpointMetrics:
    """The metrics of the endpoint `endpoint_name` and its one variant. The endpoint need not be there yet."""

    def __init__(self, endpoint_name: str) -> None:
        self.endpoint_name = endpoint_name
        self._variant = {"EndpointName": endpoint_name, "VariantName": VARIANT_NAME}

    def variant(self, name: str, **options: Unpack[MetricOptions]) -> cloudwatch.Metric:
        """A metric of the requests that SageMaker sends to the variant."""
        return _metric("AWS/SageMaker", name, self._variant, options)

    def queue(self, name: str, **options: Unpack[MetricOptions]) -> cloudwatch.Metric:
        """A metric of the queue of an asynchronous endpoint."""
        return _metric("AWS/SageMaker", name, {"EndpointName": self.endpoint_name}, options)

    def instance(self, name: str, **options: Unpack[MetricOptions]) -> cloudwatch.Metric:
        """A metric of the instances behind the variant, one value for each of them in a minute."""
        return _metric("/aws/sagemaker/Endpoints", name, self._variant, options)

    def adapter(self, metric: figures.Metric, **options: Unpack[MetricOptions]) -> cloudwatch.Metric:
        """A figure of the adapter, of all its containers together."""
        return _metric(
            figures.NAMESPACE, metric.name, {figures.ENDPOINT_DIMENSION: self.endpoint_name}, options
        )

    def instances(self) -> cloudwatch.Metric:
        """How many instances run: each sends one value of its CPU a minute ("Troubleshooting" there)."""
        return self.instance("CPUUtilization", statistic="SampleCount", period=MINUTE)


def figure(
    expression: str,
    *,
    label: str,
    period: Duration | None = None,
    **using: cloudwatch.IMetric,
) -> cloudwatch.MathExpression:
    """A figure made of others, which `expression` calls by their keywords."""
    return cloudwatch.MathExpression(
        expression=expression, label=label, period=period or Duration.minutes(5), using_metrics=using
    )


def _metric(
    namespace: str, name: str, dimensions: dict[str, str], options: MetricOptions
) -> cloudwatch.Metric:
    return cloudwatch.Metric(dimensions_map=dimensions, metric_name=name, namespace=namespace, **options)
