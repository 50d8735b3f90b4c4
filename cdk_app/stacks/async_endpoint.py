"""The stack of an environment of mode async: an endpoint that answers by a queue, and scales by it."""

from aws_cdk import CfnOutput, RemovalPolicy
from aws_cdk import aws_sns as sns

from cdk_app.stacks.endpoint import EndpointStack
from semif.environment.environment import Environment
from semif.environment.tables.endpoint import ScalingTable
from semif_constructs.hosting.async_inference import AsyncInference
from semif_constructs.hosting.backlog_scaling import BacklogScaling
from semif_constructs.hosting.variant_scaling import VariantScaling


class AsyncEndpointStack(EndpointStack):
    """`Semif-NAME-Endpoint` with the bucket and the topics of the queue."""

    asynchronous = True

    def async_inference(self, environment: Environment, /) -> AsyncInference:
        """Bucket and topics of an asynchronous endpoint. `semif destroy` empties a bucket of the stack's."""
        table = environment.async_
        of_file = {
            "success_topic": (table.success_topic_arn, "SuccessTopic"),
            "error_topic": (table.error_topic_arn, "ErrorTopic"),
        }
        topics = {
            name: sns.Topic.from_topic_arn(self, construct_id, arn)
            for name, (arn, construct_id) in of_file.items()
            if arn is not None
        }
        retain = environment.removal == "retain"
        given = environment.existing.files_bucket
        made = AsyncInference(
            self,
            "AsyncInference",
            bucket=None if given is None else self.existing_bucket("FilesBucket", given),
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

    def backlog_age_seconds(self, environment: Environment, /) -> int | None:
        """The file's, where there are alarms."""
        return environment.alarms.backlog_age_seconds if environment.alarms is not None else None

    def scale(self, environment: Environment, table: ScalingTable, scaling: VariantScaling) -> None:
        """By the backlog, down to no instance."""
        BacklogScaling(
            self,
            "BacklogScaling",
            backlog_per_instance=table.backlog_per_instance,
            invocation_timeout_seconds=environment.async_.invocation_timeout_seconds,
            scale_in_cooldown_seconds=environment.scale_in_cooldown_seconds,
            scale_out_cooldown_seconds=environment.scale_out_cooldown_seconds,
            variant_scaling=scaling,
        )
