"""The stack with what outlives an endpoint: bucket, image repository, builds, and the endpoint's log."""

from aws_cdk import CfnOutput, RemovalPolicy
from constructs import Construct

from cdk_app.stacks.environment_stack import EnvironmentStack
from semif.environment.environment import Environment
from semif.environment.tables.builds import BuildsTable
from semif.images.image_ref import ImageRef
from semif_constructs.builds.adapter_repository import AdapterRepository
from semif_constructs.builds.build_network import BuildNetwork
from semif_constructs.builds.image_build import ImageBuild
from semif_constructs.builds.model_bucket import ModelBucket
from semif_constructs.builds.model_build import ModelBuild
from semif_constructs.signals.endpoint_log import EndpointLog


class ArtifactsStack(EnvironmentStack):
    """`Semif-NAME-Artifacts`. Needs no lock: it is deployed first, and its builds make what the lock pins.

    Its outputs (BucketName, ModelProjectName and, with an image to build, RepositoryUri, ImageProjectName)
    are read by `semif build`; no stack imports them.
    """

    def __init__(self, scope: Construct, *, base_image: ImageRef | None, environment: Environment) -> None:
        """Compose the stack for `environment`, whose image extends `base_image`; None: it builds no image."""
        super().__init__(
            scope,
            environment.artifacts_stack,
            account=environment.account,
            description="model bucket and builds",
            environment=environment,
            region=environment.region,
        )
        retain = environment.removal == "retain"
        removal_policy = RemovalPolicy.RETAIN if retain else RemovalPolicy.DESTROY
        key = self.encryption_key
        given = environment.existing.bucket
        bucket = ModelBucket(
            self,
            "ModelBucket",
            bucket=None if given is None else self.existing_bucket("ExistingBucket", given),
            encryption_key=key,
            removal_policy=removal_policy,
        )
        builds = environment.builds or BuildsTable.model_validate({})
        network = self._build_network(builds)
        model_build = ModelBuild(
            self,
            "ModelBuild",
            bucket=bucket,
            encryption_key=key,
            model_hub=builds.model_hub,
            network=network,
            python_index=builds.python_index,
        )
        # Here, and not beside the endpoint: a rolled back Endpoint stack would take the reason along.
        if environment.inference_mode.has_endpoint:  # transform jobs write to a group that all of them share
            EndpointLog(
                self,
                "EndpointLog",
                encryption_key=key,
                endpoint_name=environment.endpoint_name,
                retention_days=environment.log_retention_days,
            )
        CfnOutput(self, "BucketName", value=bucket.bucket.bucket_name)
        CfnOutput(self, "ModelProjectName", value=model_build.project_name)
        if base_image is None:
            return
        repository = AdapterRepository(
            self, "AdapterRepository", encryption_key=key, removal_policy=removal_policy
        )
        image_build = ImageBuild(
            self,
            "ImageBuild",
            arm=environment.accelerator == "graviton",
            base_image=base_image,
            bucket=bucket,
            encryption_key=key,
            network=network,
            python_index=builds.python_index,
            repository=repository,
            second_base_image=environment.fallback.base_image if environment.fallback is not None else None,
        )
        CfnOutput(self, "RepositoryUri", value=repository.repository.repository_uri)
        CfnOutput(self, "ImageProjectName", value=image_build.project_name)

    def _build_network(self, builds: BuildsTable) -> BuildNetwork | None:
        """The VPC that the file names for builds; None: they run in CodeBuild's own network."""
        if builds.vpc_id is None:
            return None
        return BuildNetwork(
            security_groups=self.security_groups(builds.security_group_ids),
            subnets=self.subnets(builds.subnet_ids),
            vpc_id=builds.vpc_id,
        )
