"""The bucket that holds model archives and the sources of builds."""

from aws_cdk import Duration, RemovalPolicy
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from constructs import Construct

from semif_constructs.iam.nag_findings import acknowledge

IMAGES_PREFIX = "images/"
SOURCES_PREFIX = "sources/"
MODELS_PREFIX = "models/"


class ModelBucket(Construct):
    """A private, versioned, encrypted bucket that is reached over TLS only.

    Keys are content hashes (`models/<manifest SHA-256>/…`, `sources/<SHA-256>.zip`): nothing is overwritten
    on purpose, and a version that was overwritten by mistake is still there.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        bucket: s3.IBucket | None = None,
        encryption_key: kms.IKey | None = None,
        removal_policy: RemovalPolicy = RemovalPolicy.RETAIN,
    ) -> None:
        """Make the bucket, or use `bucket`, which then needs nothing of the rest.

        Objects are encrypted with `encryption_key`; without one, with a key that S3 manages. The grants let
        their grantees use the key, also that of `bucket` where it is known.

        With the `removal_policy` DESTROY the bucket goes with its stack if it is empty; `semif destroy`
        empties it, versions included, right before. CDK's own clean-up would be a Lambda function that may
        delete every object of the bucket and that stays deployed all the time.
        """
        super().__init__(scope, construct_id)
        self.bucket = bucket or self._make(encryption_key, removal_policy)
        self.node.default_child = self.bucket.node.default_child

    def _make(self, encryption_key: kms.IKey | None, removal_policy: RemovalPolicy) -> s3.IBucket:
        encrypted = encryption_key is not None
        made = s3.Bucket(
            self,
            "Bucket",
            block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
            bucket_key_enabled=encrypted or None,  # one call to KMS for many objects
            encryption=s3.BucketEncryption.KMS if encrypted else s3.BucketEncryption.S3_MANAGED,
            encryption_key=encryption_key,
            enforce_ssl=True,
            lifecycle_rules=[s3.LifecycleRule(abort_incomplete_multipart_upload_after=Duration.days(2))],
            minimum_tls_version=1.2,
            object_ownership=s3.ObjectOwnership.BUCKET_OWNER_ENFORCED,
            removal_policy=removal_policy,
            versioned=True,
        )
        acknowledge(
            made,
            "AwsSolutions-S1",
            "holds public models and the project's own sources under content hashes; server access logs "
            "would need a second bucket, and CloudTrail's data events say the same where they are wanted",
        )
        return made

    @property
    def sources_arn(self) -> str:
        """Pattern of the ARNs of the build sources."""
        return self.bucket.arn_for_objects(f"{SOURCES_PREFIX}*")

    @property
    def images_arn(self) -> str:
        """Pattern of the ARNs of what is stored about images."""
        return self.bucket.arn_for_objects(f"{IMAGES_PREFIX}*")

    @property
    def models_arn(self) -> str:
        """Pattern of the ARNs of the model archives."""
        return self.bucket.arn_for_objects(f"{MODELS_PREFIX}*")

    def grant_read_sources(self, grantee: iam.IGrantable) -> iam.Grant:
        """Let a build fetch its source zip: any key under `sources/`, and the bucket's location and owner."""
        bucket = iam.Grant.add_to_principal(
            grantee=grantee,
            actions=["s3:GetBucketAcl", "s3:GetBucketLocation"],  # CodeBuild checks both before it downloads
            resource_arns=[self.bucket.bucket_arn],
        )
        objects = iam.Grant.add_to_principal(
            grantee=grantee,
            actions=["s3:GetObject", "s3:GetObjectVersion"],
            resource_arns=[self.sources_arn],
        )
        self._grant_key(grantee, "kms:Decrypt")
        return bucket.combine(objects)

    def grant_store_image_records(self, grantee: iam.IGrantable) -> iam.Grant:
        """Let a build see whether it is stored what is in an image, and store it, under `images/`."""
        self._grant_key(grantee, "kms:GenerateDataKey")
        listed = iam.Grant.add_to_principal(
            grantee=grantee,
            actions=["s3:ListBucket"],
            conditions={"StringLike": {"s3:prefix": [f"{IMAGES_PREFIX}*"]}},
            resource_arns=[self.bucket.bucket_arn],
        )
        stored = iam.Grant.add_to_principal(
            grantee=grantee, actions=["s3:PutObject"], resource_arns=[self.images_arn]
        )
        return listed.combine(stored)

    def grant_publish_models(self, grantee: iam.IGrantable) -> iam.Grant:
        """Let a build look for archives under `models/`, upload new ones and read them back.

        It may erase nothing: what the build machine runs could otherwise take published models away, versions
        and all. An upload that comes back different stays until a person deletes it.
        """
        bucket = iam.Grant.add_to_principal(
            grantee=grantee,
            # Without it a missing archive answers 403 instead of 404, and with a condition on the prefix too:
            # a request for one object carries no prefix.
            actions=["s3:ListBucket"],
            resource_arns=[self.bucket.bucket_arn],
        )
        objects = iam.Grant.add_to_principal(
            grantee=grantee,
            actions=[
                "s3:AbortMultipartUpload",
                "s3:GetObject",
                "s3:GetObjectVersion",
                "s3:ListMultipartUploadParts",
                "s3:PutObject",
            ],
            resource_arns=[self.models_arn],
        )
        self._grant_key(grantee, "kms:Decrypt", "kms:GenerateDataKey")
        return bucket.combine(objects)

    def _grant_key(self, grantee: iam.IGrantable, *actions: str) -> None:
        if self.bucket.encryption_key is not None:
            iam.Grant.add_to_principal(
                grantee=grantee, actions=list(actions), resource_arns=[self.bucket.encryption_key.key_arn]
            )
