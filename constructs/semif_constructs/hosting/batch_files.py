"""Where transform jobs have their lines from and put their answers, and what a Model's role needs for it."""

from aws_cdk import RemovalPolicy
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from constructs import Construct

from semif.sagemaker.bucket_folders import ANSWERS, LINES
from semif.sagemaker.log_groups import TRANSFORM_LOG_GROUP
from semif_constructs.hosting.expiring_bucket import ExpiringBucket, keys_of
from semif_constructs.iam.container_log import allow_container_log
from semif_constructs.iam.nag_findings import acknowledge_wildcard
from semif_constructs.iam.role_policy import role_policy
from semif_constructs.iam.volume_key import volume_key_statement


class BatchFiles(Construct):
    """A bucket that forgets: callers put files under `lines/`, jobs write their answers under `answers/`."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        bucket: s3.IBucket | None = None,
        encryption_key: kms.IKey | None = None,
        removal_policy: RemovalPolicy = RemovalPolicy.RETAIN,
    ) -> None:
        """Make the bucket, encrypted with `encryption_key` where there is one; see ExpiringBucket.

        Or use `bucket`, whose own rules say what is deleted when, and its key where that is known. The
        instances' volumes are encrypted with `encryption_key` either way.
        """
        super().__init__(scope, construct_id)
        self._encryption_key = encryption_key
        self.bucket: s3.IBucket = bucket or ExpiringBucket(
            self,
            "Bucket",
            encryption_key=encryption_key,
            removal_policy=removal_policy,
        )
        self.node.default_child = self.bucket.node.default_child

    def grant_transform(self, role: iam.IRole) -> iam.Policy:
        """Let a Model's role read lines, write answers, and write the log that all transform jobs share.

        Returns the policy, for a Model to wait for. The actions are those of "CreateTransformJob API:
        Execution Role Permissions" in SageMaker's developer guide, as far as they concern these places.
        """
        bucket = self.bucket
        lines, answers = bucket.arn_for_objects(f"{LINES}/*"), bucket.arn_for_objects(f"{ANSWERS}/*")
        policy = role_policy(
            self,
            "Transforming",
            role,
            [
                iam.PolicyStatement(actions=["s3:GetObject"], resources=[lines]),
                iam.PolicyStatement(
                    actions=["s3:ListBucket"],
                    conditions={"StringLike": {"s3:prefix": [f"{LINES}/*"]}},
                    resources=[bucket.bucket_arn],
                ),
                iam.PolicyStatement(actions=["s3:AbortMultipartUpload", "s3:PutObject"], resources=[answers]),
                *self._use_of_key(),
            ],
        )
        allow_container_log(
            policy,
            creates_log_group=True,
            log_group=TRANSFORM_LOG_GROUP,
            namespace=TRANSFORM_LOG_GROUP,
        )
        for place in (lines, answers):
            acknowledge_wildcard(policy, place, "jobs and their files get names of their own")
        return policy

    def _use_of_key(self) -> list[iam.PolicyStatement]:
        """For the objects, and by a grant for the volumes of the instances."""
        keys, statements = keys_of(self._encryption_key, self.bucket), []
        if keys:
            use = ["kms:Decrypt", "kms:GenerateDataKey"]
            statements.append(iam.PolicyStatement(actions=use, resources=keys))
        if self._encryption_key is not None:
            statements.append(volume_key_statement(self._encryption_key))
        return statements
