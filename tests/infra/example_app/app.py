"""Somebody else's CDK app with a decision endpoint: what exists already is imported, nothing is looked up."""

from aws_cdk import App, Environment, Stack
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecr as ecr
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from constructs import Construct

from semif_constructs import (
    AdapterRepository,
    ImageBuild,
    ImageRef,
    ModelBucket,
    ModelBuild,
    ModelEndpoint,
    ServedModel,
    Settings,
)

PLACE = Environment(account="111122223333", region="eu-central-1")
IMAGE = ImageRef.parse(f"111122223333.dkr.ecr.eu-central-1.amazonaws.com/adapter@sha256:{'a' * 64}")
BASE = ImageRef.parse(f"public.ecr.aws/deep-learning-containers/llama-cpp@sha256:{'b' * 64}")
KEY = "arn:aws:kms:eu-central-1:111122223333:key/11111111-2222-3333-4444-555555555555"


class Decisions(Stack):
    """An endpoint, who may ask it, and an alarm."""

    def __init__(self, scope: Construct, construct_id: str) -> None:
        """Host an image and an archive that were built before."""
        super().__init__(scope, construct_id, env=PLACE)
        bucket = s3.Bucket.from_bucket_name(self, "Models", "our-models")
        model = ServedModel(
            self, "Model", environment=Settings(streams=8).to_env(), image=IMAGE, model_bucket=bucket,
            model_key="models/qwen/model.tar.gz",
        )  # fmt: skip
        endpoint = ModelEndpoint(
            self, "Endpoint", endpoint_name="decisions", instance_type="ml.c6i.2xlarge", model=model,
            container_startup_health_check_timeout_seconds=660, model_data_download_timeout_seconds=960,
        )  # fmt: skip
        endpoint.grant_invoke(iam.Role.from_role_name(self, "Application", "application"))
        endpoint.metric_server_errors().create_alarm(self, "Errors", evaluation_periods=1, threshold=1)


class Imported(Stack):
    """The same in a VPC, with a role and a key of the platform team, and the builds of image and model."""

    def __init__(self, scope: Construct, construct_id: str) -> None:
        """Use what is there."""
        super().__init__(scope, construct_id, env=PLACE)
        key = kms.Key.from_key_arn(self, "Key", KEY)
        bucket = s3.Bucket.from_bucket_attributes(
            self, "Bucket", bucket_name="our-models", encryption_key=key
        )
        models = ModelBucket(self, "Models", bucket=bucket)
        repository = ecr.Repository.from_repository_name(self, "Repository", "adapter")
        images = AdapterRepository(self, "Images", repository=repository)
        ModelBuild(self, "ModelBuild", bucket=models, encryption_key=key)
        ImageBuild(self, "ImageBuild", base_image=BASE, bucket=models, encryption_key=key, repository=images)
        vpc = ec2.Vpc.from_vpc_attributes(
            self,
            "Vpc",
            availability_zones=["eu-central-1a", "eu-central-1b"],
            private_subnet_ids=["subnet-0123456789abcdef0", "subnet-0123456789abcdef1"],
            private_subnet_route_table_ids=["rtb-0123456789abcdef0", "rtb-0123456789abcdef1"],
            vpc_id="vpc-0123456789abcdef0",
        )
        model = ServedModel(
            self,
            "Model",
            environment={},
            image_digest=IMAGE.digest,
            model_bucket=bucket,
            model_key="models/qwen/model.tar.gz",
            repository=repository,
            role=iam.Role.from_role_arn(self, "Role", "arn:aws:iam::111122223333:role/hosting"),
            security_groups=[ec2.SecurityGroup(self, "Group", allow_all_outbound=False, vpc=vpc)],
            subnets=vpc.private_subnets,
        )
        ModelEndpoint(
            self,
            "Endpoint",
            container_startup_health_check_timeout_seconds=660,
            encryption_key=key,
            instance_pool=["ml.c7g.2xlarge", "ml.c8g.2xlarge"],
            model=model,
            model_data_download_timeout_seconds=960,
            volume_size_gb=40,
        )


def compose(app: App) -> None:
    """Both stacks."""
    Decisions(app, "Decisions")
    Imported(app, "Imported")
