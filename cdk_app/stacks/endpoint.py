"""The stack with what answers: role, model and endpoint, how it scales, and what watches it."""

from collections.abc import Sequence

from aws_cdk import Annotations, CfnOutput, RemovalPolicy
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_sagemaker as sagemaker
from aws_cdk import aws_sns as sns
from constructs import Construct

from cdk_app.stacks.environment_stack import EnvironmentStack
from semif.environment import Environment
from semif.environment_tables import NetworkTable
from semif.lock import TEMPLATE_METADATA, Lock
from semif.locked_model import HubModel
from semif.pins import ImageRef
from semif_constructs.alarm_topic import AlarmTopic
from semif_constructs.async_inference import AsyncInference
from semif_constructs.backlog_scaling import BacklogScaling
from semif_constructs.capacity_alarms import CapacityAlarms
from semif_constructs.endpoint_dashboard import EndpointDashboard
from semif_constructs.endpoint_metrics import EndpointMetrics
from semif_constructs.model_endpoint import ModelEndpoint
from semif_constructs.request_alarms import RequestAlarms
from semif_constructs.served_model import ServedModel
from semif_constructs.update_policy import deployment_config
from semif_constructs.variant_scaling import VariantScaling


class EndpointStack(EnvironmentStack):
    """`Semif-NAME-Endpoint`. Image and model are plain values from the lock, nothing is imported.

    The stack belongs to the lock's account and region, where image and archive are, even where the
    environment leaves them open: the CDK then refuses credentials of another account.
    """

    def __init__(self, scope: Construct, *, environment: Environment, lock: Lock) -> None:
        """Compose the stack from a lock that was checked against `environment`."""
        super().__init__(
            scope,
            environment.endpoint_stack,
            account=lock.account,
            description=f"the endpoint {environment.endpoint_name}",
            environment=environment,
            region=lock.region,
        )
        self.template_options.metadata = {TEMPLATE_METADATA: lock.content()}
        topics = self._topics(environment)
        request_alarms = self._request_alarms(environment, topics)
        # The same ids for both kinds: an environment that changes its kind keeps its endpoint.
        pinned = lock.model
        in_s3 = None if isinstance(pinned, HubModel) else pinned
        model = ServedModel(
            self,
            "Model",
            encryption_key=self.encryption_key,
            endpoint_name=environment.endpoint_name,
            environment=environment.container_variables,
            image=ImageRef.parse(lock.image_uri),
            model_bucket_name=in_s3.bucket if in_s3 is not None else None,
            model_key=in_s3.key if in_s3 is not None else None,
            network_isolation=environment.endpoint.network_isolation,
            security_groups=self._security_groups(environment.network),
            subnets=self._subnets(environment.network),
        )
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
        CfnOutput(self, "ModelName", value=model.model_name)

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

    def _subnets(self, network: NetworkTable | None) -> Sequence[ec2.ISubnet]:
        """The subnets by their ids; nothing is looked up."""
        subnets = []
        for number, subnet_id in enumerate(network.subnet_ids if network is not None else [], start=1):
            subnet = ec2.Subnet.from_subnet_id(self, f"Subnet{number}", subnet_id)
            Annotations.of(subnet).acknowledge_warning(
                "@aws-cdk/aws-ec2:noSubnetRouteTableId", "no route is made here"
            )
            subnets.append(subnet)
        return subnets

    def _security_groups(self, network: NetworkTable | None) -> Sequence[ec2.ISecurityGroup]:
        """The groups by their ids, or one that lets nothing in, and HTTPS out: the archive comes from S3."""
        if network is None:
            return []
        ids = network.security_group_ids or [self._own_security_group(network.vpc_id)]
        return [
            ec2.SecurityGroup.from_security_group_id(self, f"SecurityGroup{number}", group_id, mutable=False)
            for number, group_id in enumerate(ids, start=1)
        ]

    def _own_security_group(self, vpc_id: str) -> str:
        group = ec2.CfnSecurityGroup(
            self,
            "SecurityGroup",
            group_description="Semif endpoint: nothing in, HTTPS out",
            security_group_egress=[
                ec2.CfnSecurityGroup.EgressProperty(
                    cidr_ip="0.0.0.0/0",
                    description="S3, for the model archive",
                    from_port=443,
                    ip_protocol="tcp",
                    to_port=443,
                )
            ],
            vpc_id=vpc_id,
        )
        return group.attr_group_id
