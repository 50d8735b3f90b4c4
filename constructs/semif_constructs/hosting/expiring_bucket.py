"""A bucket for what passes through: requests, and the answers to them."""

from aws_cdk import Duration, RemovalPolicy
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from constructs import Construct

from semif_constructs.iam.nag_findings import acknowledge


class ExpiringBucket(s3.Bucket):
    """A private, encrypted bucket that is reached over TLS only, and forgets.

    It keeps no versions: what callers sent is gone when it expires.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        encryption_key: kms.IKey | None = None,
        expiry_days: int = 30,
        removal_policy: RemovalPolicy = RemovalPolicy.RETAIN,
    ) -> None:
        """Objects are deleted `expiry_days` after they were written.

        `encryption_key` encrypts them; without one, a key that S3 manages. With the `removal_policy` DESTROY
        the bucket goes with its stack if it is empty; `semif destroy` empties it right before.
        """
        encrypted = encryption_key is not None
        super().__init__(
            scope,
            construct_id,
            block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
            bucket_key_enabled=encrypted or None,  # one call to KMS for many objects
            encryption=s3.BucketEncryption.KMS if encrypted else s3.BucketEncryption.S3_MANAGED,
            encryption_key=encryption_key,
            enforce_ssl=True,
            lifecycle_rules=[
                s3.LifecycleRule(
                    abort_incomplete_multipart_upload_after=Duration.days(2),
                    expiration=Duration.days(expiry_days),
                )
            ],
            minimum_tls_version=1.2,
            object_ownership=s3.ObjectOwnership.BUCKET_OWNER_ENFORCED,
            removal_policy=removal_policy,
        )
        acknowledge(
            self,
            "AwsSolutions-S1",
            "requests and answers pass through and are deleted after days; server access logs would need a "
            "second bucket, and CloudTrail's data events say the same where they are wanted",
        )


def keys_of(encryption_key: kms.IKey | None, bucket: s3.IBucket) -> list[str]:
    """ARNs of the keys that who works with `bucket` must use: the construct's, and that of a given bucket."""
    keys = (key.key_arn for key in (encryption_key, bucket.encryption_key) if key is not None)
    return list(dict.fromkeys(keys))
