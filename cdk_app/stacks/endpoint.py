"""The stack with what answers callers: the endpoint of the model, how it scales, and what watches it."""

from collections.abc import Sequence

from aws_cdk import CfnOutput, RemovalPolicy
from aws_cdk import aws_sagemaker as sagemaker
from aws_cdk import aws_sns as sns
from constructs import Construct

from cdk_app.stacks.model_stack import ModelStack
from semif.environment.environment import Environment
from semif.lock.lock_file import Lock
from semif_constructs.hosting.async_inference import AsyncInference
from semif_constructs.hosting.backlog_scaling import BacklogScaling
from semif_constructs.hosting.model_endpoint import ModelEndpoint
from semif_constructs.hosting.update_policy import deployment_config
from semif_constructs.hosting.variant_scaling import VariantScaling
from semif_constructs.signals.endpoint_metrics import EndpointMetrics
from semif_constructs.watching.alarm_topic import AlarmTopic
from semif_constructs.watching.capacity_alarms import CapacityAlarms
from semif_constructs.watching.endpoint_dashboard import EndpointDashboard
from semif_constructs.watching.request_alarms import RequestAlarms


class EndpointStack(ModelStack):
    """`Semif-NAME-Endpoint` of an environment that has an endpoint."""

    def __init__(self, scope: Construct, *, environment: Environment, lock: Lock) -> None:
        """Compose the stack from a lock that was checked against `environment`."""
        super().__init__(
            scope,
            description=f"the endpoint {environment.endpoint_name}",
            environment=environment,
            lock=lock,
        )
        topics = self._topics(environment)
        request_alarms = self._request_alarms(environment, topics)
        model = self.model
        if request_alarms is not None and environment.deployment is not None:
            request_alarms.grant_describe(model.role)
        table = environment.endpoint
        asynchronous = table.mode == "async"
        endpoint = ModelEndpoint(
            self,
            "Endpoint",
            async_inference=self._async_inference(environment) if asynchronous else None,
            container_startup_health_check_timeout_seconds=environment.startup_timeout_seconds,
            deployment_config=self._deployment_config(environment, request_alarms),
            encryption_key=self.encryption_key,
            endpoint_name=environment.endpoint_name,
            inference_ami_version=table.inference_ami_version,
            initial_instance_count=table.initial_instance_count,
            instance_pool=table.instance_pool,
            instance_type=table.instance_type,
            model=model,
            model_data_download_timeout_seconds=environment.model_download_timeout_seconds,
            provision_timeout_seconds=table.provision_timeout_seconds,
            retain_instance_count=environment.scaling is not None,
            volume_size_gb=table.volume_size_gb,
        )
        self._scale(environment, endpoint)
        alarms = []
        if request_alarms is not None:
            alarms = [*request_alarms.alarms, *self._capacity_alarms(environment, endpoint, topics).alarms]
        EndpointDashboard(
            self,
            "Dashboard",
            adapter=environment.kind == "decision",
            alarms=alarms,
            asynchronous=asynchronous,
            gpu=environment.accelerator == "cuda",
            metrics=endpoint.metrics,
        )
        CfnOutput(self, "EndpointName", value=endpoint.endpoint_name)
        CfnOutput(self, "EndpointArn", value=endpoint.endpoint_arn)

    def _topics(self, environment: Environment) -> Sequence[sns.ITopic]:
        """The topic that the alarms tell: the file's, or one of the stack's own."""
        if environment.alarms is None:
            return []
        if environment.alarms.topic_arn is not None:
            return [sns.Topic.from_topic_arn(self, "AlarmTopic", environment.alarms.topic_arn)]
        made = AlarmTopic(
            self,
            "AlarmTopic",
            encryption_key=self.encryption_key,
            endpoint_name=environment.endpoint_name,
        )
        CfnOutput(self, "AlarmTopicArn", value=made.topic.topic_arn)
        return [made.topic]

    def _async_inference(self, environment: Environment) -> AsyncInference:
        """Bucket and topics of an asynchronous endpoint. `semif destroy` empties the bucket of BucketName."""
        table = environment.async_
        given = {
            "success_topic": (table.success_topic_arn, "SuccessTopic"),
            "error_topic": (table.error_topic_arn, "ErrorTopic"),
        }
        topics = {
            name: sns.Topic.from_topic_arn(self, construct_id, arn)
            for name, (arn, construct_id) in given.items()
            if arn is not None
        }
        retain = environment.removal == "retain"
        made = AsyncInference(
            self,
            "AsyncInference",
            concurrent_invocations_per_instance=environment.concurrent_invocations,
            encryption_key=self.encryption_key,
            expiry_days=table.expiry_days,
            removal_policy=RemovalPolicy.RETAIN if retain else RemovalPolicy.DESTROY,
            **topics,
        )
        CfnOutput(self, "BucketName", value=made.bucket.bucket_name)
        CfnOutput(self, "SuccessTopicArn", value=made.success_topic.topic_arn)
        CfnOutput(self, "ErrorTopicArn", value=made.error_topic.topic_arn)
        return made

    def _request_alarms(self, environment: Environment, topics: Sequence[sns.ITopic]) -> RequestAlarms | None:
        table = environment.alarms
        if table is None:
            return None
        return RequestAlarms(
            self,
            "RequestAlarms",
            asynchronous=environment.endpoint.mode == "async",
            error_percent=table.error_percent,
            metrics=EndpointMetrics(environment.endpoint_name),
            min_allowed_token_mass=table.min_allowed_token_mass if environment.answers_with_letters else None,
            model_p95_seconds=table.model_p95_seconds,
            overhead_seconds=table.overhead_seconds,
            refusal_percent=table.refusal_percent if environment.kind == "decision" else None,
            topics=topics,
        )

    def _capacity_alarms(
        self, environment: Environment, endpoint: ModelEndpoint, topics: Sequence[sns.ITopic]
    ) -> CapacityAlarms:
        return CapacityAlarms(
            self,
            "CapacityAlarms",
            adapter=environment.kind == "decision",
            backlog_age_seconds=(
                environment.alarms.backlog_age_seconds
                if environment.alarms is not None and environment.endpoint.mode == "async"
                else None
            ),
            endpoint=endpoint,
            longest_start_seconds=2 * environment.start_seconds,
            scales_to_zero=environment.min_instance_count == 0,
            topics=topics,
        )

    def _deployment_config(
        self, environment: Environment, request_alarms: RequestAlarms | None
    ) -> sagemaker.CfnEndpoint.DeploymentConfigProperty | None:
        table = environment.deployment
        if table is None or request_alarms is None:
            return None
        return deployment_config(
            instance_count=environment.min_instance_count,
            rollback_alarms=request_alarms.rollback_alarms,
            start_seconds=environment.start_seconds,
            strategy=table.strategy,
            wait_seconds=table.wait_seconds,
        )

    def _scale(self, environment: Environment, endpoint: ModelEndpoint) -> None:
        table = environment.scaling
        if table is None:
            return
        scaling = VariantScaling(
            self,
            "Scaling",
            asynchronous=environment.endpoint.mode == "async",
            endpoint=endpoint,
            max_instance_count=table.max_instance_count,
            min_instance_count=table.min_instance_count,
        )
        if environment.endpoint.mode == "async":
            BacklogScaling(
                self,
                "BacklogScaling",
                backlog_per_instance=table.backlog_per_instance,
                scale_in_cooldown_seconds=environment.scale_in_cooldown_seconds,
                scale_out_cooldown_seconds=environment.scale_out_cooldown_seconds,
                variant_scaling=scaling,
            )
            return
        scaling.track_concurrency(
            table.concurrent_requests_per_instance,
            scale_in_cooldown_seconds=environment.scale_in_cooldown_seconds,
            scale_out_cooldown_seconds=environment.scale_out_cooldown_seconds,
        )
