"""What an asynchronous endpoint has beside the others: a bucket for requests and answers, and two topics."""

from aws_cdk import RemovalPolicy
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_sagemaker as sagemaker
from aws_cdk import aws_sns as sns
from constructs import Construct

from semif.sagemaker.bucket_folders import ANSWERS, FAILURES, REQUESTS
from semif_constructs.hosting.expiring_bucket import ExpiringBucket, keys_of
from semif_constructs.iam.nag_findings import acknowledge_wildcard
from semif_constructs.iam.role_policy import role_policy

_Config = sagemaker.CfnEndpointConfig


class AsyncInference(Construct):
    """A private, encrypted bucket that forgets, or one that is there; a topic for answers, one for failures.

    Callers put a request under `requests/`; SageMaker reads it there with the Model's role, and writes the
    answer under `answers/` or what went wrong under `failures/`.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        bucket: s3.IBucket | None = None,
        concurrent_invocations_per_instance: int,
        encryption_key: kms.IKey | None = None,
        error_topic: sns.ITopic | None = None,
        expiry_days: int = 30,
        removal_policy: RemovalPolicy = RemovalPolicy.RETAIN,
        success_topic: sns.ITopic | None = None,
    ) -> None:
        """Make the bucket and the topics, those excepted that are given.

        `concurrent_invocations_per_instance` (1 to 1000) is how many requests are sent to one container at
        once. Objects are deleted `expiry_days` after they were written. `encryption_key` encrypts bucket and
        topics; without one S3 manages a key and the topics have none: their messages name places in S3 and
        hold no request. With the `removal_policy` DESTROY the bucket goes with its stack if it is empty.

        A given `bucket` keeps its own rules on what is deleted when. The grants let their grantees use its
        key too, where that is known.
        """
        super().__init__(scope, construct_id)
        self._concurrent_invocations = concurrent_invocations_per_instance
        self._encryption_key = encryption_key
        self.bucket: s3.IBucket = bucket or ExpiringBucket(
            self,
            "Bucket",
            encryption_key=encryption_key,
            expiry_days=expiry_days,
            removal_policy=removal_policy,
        )
        self.node.default_child = self.bucket.node.default_child
        self.success_topic = success_topic or self._topic("SuccessTopic")
        self.error_topic = error_topic or self._topic("ErrorTopic")

    @property
    def config(self) -> sagemaker.CfnEndpointConfig.AsyncInferenceConfigProperty:
        """What an EndpointConfig says of it."""
        key = self._encryption_key
        return _Config.AsyncInferenceConfigProperty(
            client_config=_Config.AsyncInferenceClientConfigProperty(
                max_concurrent_invocations_per_instance=self._concurrent_invocations
            ),
            output_config=_Config.AsyncInferenceOutputConfigProperty(
                kms_key_id=key.key_arn if key is not None else None,
                notification_config=_Config.AsyncInferenceNotificationConfigProperty(
                    error_topic=self.error_topic.topic_arn, success_topic=self.success_topic.topic_arn
                ),
                s3_failure_path=self.bucket.s3_url_for_object(FAILURES),
                s3_output_path=self.bucket.s3_url_for_object(ANSWERS),
            ),
        )

    def grant_serve(self, role: iam.IRole) -> iam.Policy:
        """Let a Model's role read requests, write answers and failures, and tell the topics.

        Returns the policy, for an EndpointConfig to wait for. The actions are those of "Complete the
        prerequisites" of asynchronous inference in SageMaker's developer guide, without listing the bucket.
        """
        reads = self.bucket.arn_for_objects(f"{REQUESTS}/*")
        writes = [self.bucket.arn_for_objects(f"{prefix}/*") for prefix in (ANSWERS, FAILURES)]
        policy = role_policy(
            self,
            "Serving",
            role,
            [
                iam.PolicyStatement(actions=["s3:GetObject"], resources=[reads]),
                iam.PolicyStatement(actions=["s3:AbortMultipartUpload", "s3:PutObject"], resources=writes),
                iam.PolicyStatement(
                    actions=["sns:Publish"],
                    resources=[self.error_topic.topic_arn, self.success_topic.topic_arn],
                ),
                *self._use_of_key("kms:Decrypt", "kms:GenerateDataKey"),
            ],
        )
        for resource in (reads, *writes):
            acknowledge_wildcard(policy, resource, "the keys of requests and answers are made up by callers")
        return policy

    def grant_submit(self, grantee: iam.IGrantable) -> iam.Grant:
        """Let `grantee` put requests into the bucket, fetch answers and failures, and see what is there.

        To ask the endpoint itself is for `ModelEndpoint.grant_invoke`.
        """
        requests, *others = prefixes = [f"{prefix}/*" for prefix in (REQUESTS, ANSWERS, FAILURES)]
        grants = [
            iam.Grant.add_to_principal(
                grantee=grantee,
                actions=["s3:PutObject"],
                resource_arns=[self.bucket.arn_for_objects(requests)],
            ),
            iam.Grant.add_to_principal(
                grantee=grantee,
                actions=["s3:GetObject"],
                resource_arns=[self.bucket.arn_for_objects(prefix) for prefix in others],
            ),
            iam.Grant.add_to_principal(
                grantee=grantee,
                actions=["s3:ListBucket"],
                conditions={"StringLike": {"s3:prefix": prefixes}},
                resource_arns=[self.bucket.bucket_arn],
            ),
        ]
        for statement in self._use_of_key("kms:Decrypt", "kms:GenerateDataKey"):
            grantee.grant_principal.add_to_principal_policy(statement)
        return grants[0].combine(grants[1]).combine(grants[2])

    def _use_of_key(self, *actions: str) -> list[iam.PolicyStatement]:
        keys = keys_of(self._encryption_key, self.bucket)
        return [iam.PolicyStatement(actions=list(actions), resources=keys)] if keys else []

    def _topic(self, construct_id: str) -> sns.Topic:
        return sns.Topic(self, construct_id, enforce_ssl=True, master_key=self._encryption_key)
