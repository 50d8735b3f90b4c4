"""The repository that holds the images of the adapter."""

from aws_cdk import Duration, RemovalPolicy
from aws_cdk import aws_ecr as ecr
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from constructs import Construct

from semif_constructs.iam.image_access import PULL_ACTIONS


class AdapterRepository(Construct):
    """A private ECR repository: a tag, once pushed, names one image for ever; every image is scanned.

    Only untagged images expire. Builds always tag and tags do not move, so no image that a lock names, or
    named before a rollback, can ever match the rule.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        encryption_key: kms.IKey | None = None,
        removal_policy: RemovalPolicy = RemovalPolicy.RETAIN,
        repository: ecr.IRepository | None = None,
    ) -> None:
        """Make the repository, or use `repository`, which then needs nothing of the rest.

        Images are encrypted with `encryption_key`; without one, with a key that S3 manages. With the
        `removal_policy` DESTROY the images go with the repository.
        """
        super().__init__(scope, construct_id)
        self.repository = repository or self._make(encryption_key, removal_policy)
        self.node.default_child = self.repository.node.default_child

    def _make(self, encryption_key: kms.IKey | None, removal_policy: RemovalPolicy) -> ecr.IRepository:
        return ecr.Repository(
            self,
            "Repository",
            empty_on_delete=removal_policy is RemovalPolicy.DESTROY,
            encryption=ecr.RepositoryEncryption.KMS if encryption_key is not None else None,
            encryption_key=encryption_key,
            image_scan_on_push=True,
            image_tag_mutability=ecr.TagMutability.IMMUTABLE,
            lifecycle_rules=[
                ecr.LifecycleRule(
                    description="leftovers of builds that were stopped while they pushed",
                    max_image_age=Duration.days(14),
                    tag_status=ecr.TagStatus.UNTAGGED,
                )
            ],
            removal_policy=removal_policy,
        )

    def grant_push(self, grantee: iam.IGrantable) -> iam.Grant:
        """Let a build look up, push and read back images of this repository."""
        return iam.Grant.add_to_principal(
            grantee=grantee,
            actions=[
                *PULL_ACTIONS,
                "ecr:CompleteLayerUpload",
                "ecr:DescribeImages",
                "ecr:InitiateLayerUpload",
                "ecr:PutImage",
                "ecr:UploadLayerPart",
            ],
            resource_arns=[self.repository.repository_arn],
        )
