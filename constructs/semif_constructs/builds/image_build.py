"""The CodeBuild project that builds the adapter's image."""

from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from constructs import Construct

from semif.images.image_ref import ImageRef
from semif_constructs.builds.adapter_repository import AdapterRepository
from semif_constructs.builds.build_network import BuildNetwork
from semif_constructs.builds.build_project import PYTHON_INDEX, BuildProject
from semif_constructs.builds.model_bucket import ModelBucket
from semif_constructs.iam.image_access import grant_pull, repository_arn
from semif_constructs.iam.nag_findings import acknowledge, acknowledge_wildcard


class ImageBuild(BuildProject):
    """Builds from `buildspec.yml`: FROM the pinned base, push under an immutable tag, read the digest back.

    The image's bill of materials and licences go to the bucket, under `images/`. Docker needs the privileged
    mode, so the project's role may do the least that a build takes: read sources, push to the one repository,
    store those two files where they are not yet there, get tokens for the registries.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        arm: bool = False,
        base_image: ImageRef,
        bucket: ModelBucket,
        encryption_key: kms.IKey | None = None,
        network: BuildNetwork | None = None,
        python_index: str | None = None,
        repository: AdapterRepository,
        second_base_image: ImageRef | None = None,
    ) -> None:
        """Make the project. `base_image` is public, or in a private ECR registry that lets us pull.

        A build may be started with `second_base_image` as its BASE_IMAGE in place of that one.

        `network` is the VPC that builds run in, `python_index` the package index in place of PyPI: what
        comes from there is held against the hashes of `adapter_image/requirements.txt`.
        """
        super().__init__(
            scope,
            construct_id,
            arm=arm,
            bucket=bucket,
            buildspec_file="buildspec.yml",
            compute_type="BUILD_GENERAL1_MEDIUM",  # room on disk for the CUDA base, twice
            description="builds the image of the Semif adapter",
            encryption_key=encryption_key,
            environment={
                "BASE_IMAGE": str(base_image),
                "MODEL_BUCKET": bucket.bucket.bucket_name,
                PYTHON_INDEX: python_index,
                "REPOSITORY_URI": repository.repository.repository_uri,
            },
            network=network,
            privileged=True,
            timeout_minutes=45,
        )
        repository.grant_push(self.role)
        bucket.grant_store_image_records(self.role)
        acknowledge_wildcard(
            self,
            bucket.images_arn,
            "what is in an image is stored under the image's digest, which is not known before",
        )
        self._grant_logins()
        bases = [base_image] if second_base_image is None else [base_image, second_base_image]
        for base_arn in dict.fromkeys(repository_arn(self, base) for base in bases):
            if base_arn is not None:
                grant_pull(self.role, base_arn)
        acknowledge(
            self,
            "AwsSolutions-CB3",
            "docker build needs the privileged mode; the machine is AWS's and ends with the build",
        )

    def _grant_logins(self) -> None:
        """Tokens for the private registry and for public.ecr.aws, which limits callers without one."""
        iam.Grant.add_to_principal(
            grantee=self.role,
            actions=["ecr:GetAuthorizationToken", "ecr-public:GetAuthorizationToken"],
            resource_arns=["*"],
        )
        iam.Grant.add_to_principal(
            grantee=self.role,
            actions=["sts:GetServiceBearerToken"],
            resource_arns=["*"],
            conditions={"StringEquals": {"sts:AWSServiceName": "ecr-public.amazonaws.com"}},
        )
        acknowledge_wildcard(
            self,
            "*",
            "the token actions of ECR and STS know no resources, and a token alone opens no repository",
        )
