"""The stack with what answers callers: the endpoint of the model, how it scales, and what watches it."""

from collections.abc import Sequence

from aws_cdk import CfnOutput, CfnParameter, RemovalPolicy
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as cloudwatch_actions
from aws_cdk import aws_sagemaker as sagemaker
from aws_cdk import aws_sns as sns
from constructs import Construct

from cdk_app.stacks.model_stack import ModelStack
from semif.aws.expiry import EXPIRES_AT, EXPIRY_OUTPUT, TIME_PATTERN
from semif.environment.environment import Environment
from semif.environment.environment_file import ENVIRONMENT_TAG
from semif.environment.tables.endpoint import ScalingTable
from semif.lock.lock_file import Lock
from semif_constructs.hosting.async_inference import AsyncInference
from semif_constructs.hosting.data_capture import DataCapture
from semif_constructs.hosting.endpoint_expiry import EndpointExpiry
from semif_constructs.hosting.model_endpoint import ModelEndpoint
from semif_constructs.hosting.update_policy import deployment_config
from semif_constructs.hosting.variant_scaling import VariantScaling
from semif_constructs.signals.endpoint_metrics import EndpointMetrics
from semif_constructs.watching.alarm_topic import AlarmTopic
from semif_constructs.watching.capacity_alarms import CapacityAlarms
from semif_constructs.watching.endpoint_dashboard import EndpointDashboard
from semif_constructs.watching.monthly_budget import MonthlyBudget
from semif_constructs.watching.request_alarms import RequestAlarms


class EndpointStack(ModelStack):
    """`Semif-NAME-Endpoint` of an environment whose endpoint answers while callers wait.

    Other modes with an endpoint derive from it, and say what is theirs.
    """

    asynchronous = False
    """Whether the endpoint answers by a queue: it has other figures then, other alarms and other bounds."""

    def __init__(self, scope: Construct, *, environment: Environment, lock: Lock) -> None:
        """Compose the stack from a lock that was checked against `environment`."""
        super().__init__(
            scope,
            description=f"the endpoint {environment.endpoint_name}",
            environment=environment,
            lock=lock,
        )
        topic = self._alarm_topic(environment)
        told = [] if topic is None else [cloudwatch_actions.SnsAction(topic)]
        request_alarms = self._request_alarms(environment, told)
        model = self.model
        if request_alarms is not None and environment.deployment is not None:
            request_alarms.grant_describe(model.role)
        table = environment.endpoint
        endpoint = ModelEndpoint(
            self,
            "Endpoint",
            async_inference=self.async_inference(environment),
            container_startup_health_check_timeout_seconds=environment.startup_timeout_seconds,
            creates_log_group=environment.preset is None,  # else the Artifacts stack has one
            data_capture=self._data_capture(environment),
            deployment_config=self._deployment_config(environment, request_alarms),
            encryption_key=self.encryption_key,
            endpoint_name=environment.endpoint_name,
            fallback_model=self.fallback_model,
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
        self._expire(environment, endpoint)
        if environment.budget is not None and topic is not None:
            MonthlyBudget(
                self,
                "Budget",
                monthly_usd=environment.budget.monthly_usd,
                tag_key=ENVIRONMENT_TAG,
                tag_value=environment.name,
                topic=topic,
            )
        alarms = []
        if request_alarms is not None:
            alarms = [*request_alarms.alarms, *self._capacity_alarms(environment, endpoint, told).alarms]
        EndpointDashboard(
            self,
            "Dashboard",
            adapter=environment.serving_kind.runs_adapter,
            alarms=alarms,
            asynchronous=self.asynchronous,
            gpu=environment.accelerator == "cuda",
            metrics=endpoint.metrics,
        )
        CfnOutput(self, "EndpointName", value=endpoint.endpoint_name)
        CfnOutput(self, "EndpointArn", value=endpoint.endpoint_arn)

    def _alarm_topic(self, environment: Environment) -> sns.ITopic | None:
        """What the alarms tell: the file's topic, or one of the stack's own."""
        if environment.alarms is None:
            return None
        if environment.alarms.topic_arn is not None:
            return sns.Topic.from_topic_arn(self, "AlarmTopic", environment.alarms.topic_arn)
        made = AlarmTopic(
            self,
            "AlarmTopic",
            encryption_key=self.encryption_key,
            endpoint_name=environment.endpoint_name,
        )
        CfnOutput(self, "AlarmTopicArn", value=made.topic.topic_arn)
        return made.topic

    def _expire(self, environment: Environment, endpoint: ModelEndpoint) -> None:
        """Delete the endpoint at a time that each deployment gives as a parameter."""
        if environment.endpoint.expires_after_hours is None:
            return
        at = CfnParameter(
            self,
            EXPIRES_AT,
            allowed_pattern=TIME_PATTERN,
            description="when the endpoint is deleted, in UTC; semif deploy gives it anew",
        )
        EndpointExpiry(
            self,
            "Expiry",
            at=at.value_as_string,
            endpoint=endpoint,
            scaled=environment.scaling is not None,
        )
        CfnOutput(self, EXPIRY_OUTPUT, value=at.value_as_string)

    def async_inference(self, _environment: Environment, /) -> AsyncInference | None:
        """The queue of the endpoint; None: it has none."""
        return None

    def _data_capture(self, environment: Environment) -> DataCapture | None:
        """What keeps a share of the requests. `semif destroy` empties the bucket of BucketName."""
        table = environment.data_capture
        if table is None:
            return None
        retain = environment.removal == "retain"
        made = DataCapture(
            self,
            "DataCapture",
            encryption_key=self.encryption_key,
            expiry_days=table.expiry_days,
            removal_policy=RemovalPolicy.RETAIN if retain else RemovalPolicy.DESTROY,
            sampling_percent=table.sampling_percent,
        )
        CfnOutput(self, "BucketName", value=made.bucket.bucket_name)
        return made

    def backlog_age_seconds(self, _environment: Environment, /) -> int | None:
        """The age of the oldest request in the queue that sets off an alarm; None: there is no such alarm."""
        return None

    def scale(self, environment: Environment, table: ScalingTable, scaling: VariantScaling) -> None:
        """Add the policies that move the number of instances between their bounds."""
        scaling.track_concurrency(
            table.concurrent_requests_per_instance,
            scale_in_cooldown_seconds=environment.scale_in_cooldown_seconds,
            scale_out_cooldown_seconds=environment.scale_out_cooldown_seconds,
        )

    def _request_alarms(
        self, environment: Environment, told: Sequence[cloudwatch.IAlarmAction]
    ) -> RequestAlarms | None:
        table = environment.alarms
        if table is None:
            return None
        return RequestAlarms(
            self,
            "RequestAlarms",
            alarm_actions=told,
            asynchronous=self.asynchronous,
            error_percent=table.error_percent,
            metrics=EndpointMetrics(environment.endpoint_name),
            min_allowed_token_mass=table.min_allowed_token_mass if environment.answers_with_letters else None,
            model_p95_seconds=table.model_p95_seconds,
            ok_actions=told,
            overhead_seconds=table.overhead_seconds,
            refusal_percent=table.refusal_percent if environment.serving_kind.runs_adapter else None,
        )

    def _capacity_alarms(
        self,
        environment: Environment,
        endpoint: ModelEndpoint,
        told: Sequence[cloudwatch.IAlarmAction],
    ) -> CapacityAlarms:
        return CapacityAlarms(
            self,
            "CapacityAlarms",
            adapter=environment.serving_kind.runs_adapter,
            alarm_actions=told,
            backlog_age_seconds=self.backlog_age_seconds(environment),
            endpoint=endpoint,
            longest_start_seconds=environment.longest_start_seconds,
            ok_actions=told,
            scales_to_zero=environment.min_instance_count == 0,
        )

    def _deployment_config(
        self, environment: Environment, request_alarms: RequestAlarms | None
    ) -> sagemaker.CfnEndpoint.DeploymentConfigProperty | None:
        table = environment.deployment
        if table is None or request_alarms is None:
            return None
        return deployment_config(
            instance_count=environment.min_instance_count,
            longest_start_seconds=environment.longest_start_seconds,
            rollback_alarms=request_alarms.rollback_alarms,
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
            endpoint=endpoint,
            max_instance_count=table.max_instance_count,
            min_instance_count=table.min_instance_count,
            schedule=table.schedule,
            schedule_timezone=table.schedule_timezone,
        )
        self.scale(environment, table, scaling)
