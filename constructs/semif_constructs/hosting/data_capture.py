"""What callers ask an endpoint and what it answers, kept for a while: a bucket, and what captures into it."""

from aws_cdk import RemovalPolicy
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_sagemaker as sagemaker
from constructs import Construct

from semif.sagemaker.bucket_folders import CAPTURED
from semif_constructs.hosting.expiring_bucket import ExpiringBucket
from semif_constructs.iam.nag_findings import acknowledge_wildcard
from semif_constructs.iam.role_policy import role_policy

_Config = sagemaker.CfnEndpointConfig


class DataCapture(Construct):
    """A private, encrypted bucket that forgets, into which SageMaker writes a share of the requests.

    It holds what callers sent, word for word: who may read it, may read their texts. For realtime endpoints.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        encryption_key: kms.IKey | None = None,
        expiry_days: int = 30,
        removal_policy: RemovalPolicy = RemovalPolicy.RETAIN,
        sampling_percent: int,
    ) -> None:
        """Make the bucket. `sampling_percent` (1 to 100) of the requests are captured, with their answers.

        Objects are deleted `expiry_days` after they were written. `encryption_key` encrypts them; without
        one, a key that S3 manages. With the `removal_policy` DESTROY the bucket goes with its stack if it is
        empty.
        """
        super().__init__(scope, construct_id)
        self._encryption_key = encryption_key
        self._sampling_percent = sampling_percent
        self.bucket = ExpiringBucket(
            self,
            "Bucket",
            encryption_key=encryption_key,
            expiry_days=expiry_days,
            removal_policy=removal_policy,
        )
        self.node.default_child = self.bucket.node.default_child

    @property
    def config(self) -> sagemaker.CfnEndpointConfig.DataCaptureConfigProperty:
        """What an EndpointConfig says of it: JSON as text, all else in base64 ("DataCaptureConfig")."""
        key = self._encryption_key
        return _Config.DataCaptureConfigProperty(
            capture_content_type_header=_Config.CaptureContentTypeHeaderProperty(
                json_content_types=["application/json"]
            ),
            capture_options=[
                _Config.CaptureOptionProperty(capture_mode=mode) for mode in ("Input", "Output")
            ],
            destination_s3_uri=self.bucket.s3_url_for_object(CAPTURED),
            enable_capture=True,
            initial_sampling_percentage=self._sampling_percent,
            kms_key_id=key.key_arn if key is not None else None,
        )

    def grant_capture(self, role: iam.IRole) -> iam.Policy:
        """Let a Model's role, with which SageMaker captures, write there and nothing else.

        Returns the policy, for an EndpointConfig to wait for.
        """
        captured = self.bucket.arn_for_objects(f"{CAPTURED}/*")
        statements = [
            iam.PolicyStatement(actions=["s3:AbortMultipartUpload", "s3:PutObject"], resources=[captured])
        ]
        if self._encryption_key is not None:
            statements.append(
                iam.PolicyStatement(
                    actions=["kms:Decrypt", "kms:GenerateDataKey"], resources=[self._encryption_key.key_arn]
                )
            )
        policy = role_policy(self, "Capturing", role, statements)
        acknowledge_wildcard(policy, captured, "SageMaker names the files after the time")
        return policy
