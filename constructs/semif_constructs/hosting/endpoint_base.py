"""What can be done with an endpoint wherever it is made: ask it, and look at its metrics."""

from typing import Unpack

from aws_cdk import Stack
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_iam as iam
from constructs import Construct

from semif_constructs.signals.endpoint_metrics import EndpointMetrics, MetricOptions


class EndpointBase(Construct):
    """An endpoint of this stack, or one that is there already (`ModelEndpoint.from_endpoint_name`)."""

    endpoint_name: str
    asynchronous: bool
    """Whether it answers by a queue alone."""
    metrics: EndpointMetrics
    """All metrics of it by name."""

    def _set_name(self, endpoint_name: str, *, asynchronous: bool) -> None:
        self.endpoint_name = endpoint_name
        self.asynchronous = asynchronous
        self.metrics = EndpointMetrics(endpoint_name)

    @property
    def endpoint_arn(self) -> str:
        """The endpoint's ARN, in the account and region of its stack."""
        return Stack.of(self).format_arn(
            service="sagemaker", resource="endpoint", resource_name=self.endpoint_name
        )

    def grant_invoke(self, grantee: iam.IGrantable) -> iam.Grant:
        """Let `grantee` ask this endpoint: by its queue where it has one, else for whole or streamed answers.

        A stream needs both actions: SageMaker's API reference asks for InvokeEndpoint, IAM has one of its own
        ("InvokeEndpointWithResponseStream" there, read 2026-11-30). It opens nothing more: the same container
        answers, the text one in pieces and the adapter as a whole.
        """
        realtime = ["sagemaker:InvokeEndpoint", "sagemaker:InvokeEndpointWithResponseStream"]
        return iam.Grant.add_to_principal(
            grantee=grantee,
            actions=["sagemaker:InvokeEndpointAsync"] if self.asynchronous else realtime,
            resource_arns=[self.endpoint_arn],
        )

    def metric(self, metric_name: str, **options: Unpack[MetricOptions]) -> cloudwatch.Metric:
        """A metric that SageMaker publishes for the variant; by default the mean over five minutes."""
        return self.metrics.variant(metric_name, **options)

    def metric_invocations(self, **options: Unpack[MetricOptions]) -> cloudwatch.Metric:
        """How many requests were sent to the container."""
        options.setdefault("statistic", "Sum")
        return self.metric("Invocations", **options)

    def metric_client_errors(self, **options: Unpack[MetricOptions]) -> cloudwatch.Metric:
        """How many answers had a 4xx status."""
        options.setdefault("statistic", "Sum")
        return self.metric("Invocation4XXErrors", **options)

    def metric_server_errors(self, **options: Unpack[MetricOptions]) -> cloudwatch.Metric:
        """How many answers had a 5xx status, refusals under overload (503) included."""
        options.setdefault("statistic", "Sum")
        return self.metric("Invocation5XXErrors", **options)

    def metric_model_latency(self, **options: Unpack[MetricOptions]) -> cloudwatch.Metric:
        """How long the container took for an answer, in microseconds, the 95th percentile."""
        options.setdefault("statistic", "p95")
        return self.metric("ModelLatency", **options)


class ImportedEndpoint(EndpointBase):
    """An endpoint that another stack made, known by its name."""

    def __init__(
        self, scope: Construct, construct_id: str, *, asynchronous: bool = False, endpoint_name: str
    ) -> None:
        super().__init__(scope, construct_id)
        self._set_name(endpoint_name, asynchronous=asynchronous)
