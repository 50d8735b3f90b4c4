"""The CodeBuild project that packs a model and publishes its archive."""

from aws_cdk import aws_kms as kms
from constructs import Construct

from semif.models.hub_lookup import HUB_VARIABLE
from semif_constructs.builds.build_network import BuildNetwork
from semif_constructs.builds.build_project import PYTHON_INDEX, BuildProject
from semif_constructs.builds.model_bucket import ModelBucket
from semif_constructs.iam.nag_findings import acknowledge_wildcard


class ModelBuild(BuildProject):
    """Builds from `buildspec.model.yml`: fetch the pinned GGUF, verify it, pack it, upload the archive.

    It needs no Docker and gets no privileges. Each start names its PRESET.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        bucket: ModelBucket,
        encryption_key: kms.IKey | None = None,
        model_hub: str | None = None,
        network: BuildNetwork | None = None,
        python_index: str | None = None,
    ) -> None:
        """Make the project; archives go to `bucket`, under `models/`.

        `network` is the VPC that builds run in; `python_index` and `model_hub` are mirrors in place of
        PyPI and huggingface.co: what comes from there is held against hashes of the checkout.
        """
        super().__init__(
            scope,
            construct_id,
            arm=False,
            bucket=bucket,
            buildspec_file="buildspec.model.yml",
            compute_type="BUILD_GENERAL1_SMALL",  # packing is one stream: one core and no large memory
            description="packs and publishes model archives",
            encryption_key=encryption_key,
            environment={
                HUB_VARIABLE: model_hub,
                "MODEL_BUCKET": bucket.bucket.bucket_name,
                PYTHON_INDEX: python_index,
            },
            network=network,
            privileged=False,
            timeout_minutes=60,
        )
        bucket.grant_publish_models(self.role)
        acknowledge_wildcard(
            self,
            bucket.models_arn,
            "it publishes any preset; an archive's key, its manifest's hash, is not known before",
        )
