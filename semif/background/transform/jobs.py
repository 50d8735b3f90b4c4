"""Transform jobs: what is asked of SageMaker, and how a job is found again.

A job's name says what it is for: `semif-NAME-TRANSFORM-N`, the Nth of an environment for one file
and one Model. SageMaker keeps the names of all jobs for ever and uses none twice.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from botocore.exceptions import ClientError

from semif.aws.clients import Aws, aws_errors
from semif.environment.environment import Environment
from semif.sagemaker.bucket_folders import ANSWERS, LINES
from semif.sagemaker.placement import takes_volume
from semif.sagemaker.transform_rules import GPU_AMI_VERSION, invocation_seconds
from semif_adapter.contract.transform_parameters import JSON_LINES, execution_parameters

if TYPE_CHECKING:
    from mypy_boto3_sagemaker.literals import TransformInstanceTypeType
    from mypy_boto3_sagemaker.type_defs import CreateTransformJobRequestTypeDef

RETRIES = 3
"""How often SageMaker sends a line again that got no answer or was refused for want of room; its most."""
GOING = {"InProgress", "Stopping"}
SHOWN_JOBS = 5


@dataclass(frozen=True)
class TransformJob:
    """A transform job as SageMaker tells of it."""

    name: str
    status: str
    reason: str | None = None
    started: bool = False
    """Whether its container is up, and lines are sent."""

    @property
    def is_going(self) -> bool:
        """Whether it is not over yet."""
        return self.status in GOING

    @property
    def attempt(self) -> int:
        """The how manieth it is for its file and Model."""
        return int(self.name.rpartition("-")[2])


def job_request(
    environment: Environment, *, bucket: str, instances: int, model: str, name: str
) -> "CreateTransformJobRequestTypeDef":
    """What CreateTransformJob is asked for: the objects under `lines/NAME/`, a line a request.

    What is sent at once, and how long an answer may take, follow from the adapter's settings.
    """
    settings = environment.settings
    parameters = execution_parameters(settings)
    request: CreateTransformJobRequestTypeDef = {
        "TransformJobName": name,
        "ModelName": model,
        "BatchStrategy": "SingleRecord",
        "MaxConcurrentTransforms": parameters.at_once,
        "MaxPayloadInMB": parameters.payload_mb,
        "ModelClientConfig": {
            "InvocationsMaxRetries": RETRIES,
            "InvocationsTimeoutInSeconds": invocation_seconds(settings.deadline_seconds),
        },
        "TransformInput": {
            "ContentType": JSON_LINES,
            "DataSource": {
                "S3DataSource": {"S3DataType": "S3Prefix", "S3Uri": f"s3://{bucket}/{LINES}/{name}/"}
            },
            "SplitType": "Line",
        },
        "TransformOutput": {
            "Accept": JSON_LINES,
            "AssembleWith": "Line",
            "S3OutputPath": f"s3://{bucket}/{ANSWERS}/{name}",
        },
        "TransformResources": {
            "InstanceCount": instances,
            "InstanceType": cast("TransformInstanceTypeType", environment.endpoint.instance_types[0]),
        },
        "Tags": [{"Key": key, "Value": value} for key, value in environment.aws_tags.items()],
    }
    if environment.accelerator == "cuda":
        request["TransformResources"]["TransformAmiVersion"] = GPU_AMI_VERSION
    if environment.encryption is not None:
        key = environment.encryption.kms_key_arn
        request["TransformOutput"]["KmsKeyId"] = key
        if takes_volume(environment.endpoint.instance_types):
            request["TransformResources"]["VolumeKmsKeyId"] = key
    return request


def start_job(aws: Aws, request: "CreateTransformJobRequestTypeDef") -> None:
    """Start it; somebody else may have started the same job meanwhile. Raises SemifError."""
    with aws_errors():
        try:
            aws.sagemaker.create_transform_job(**request)
        except ClientError as error:
            if error.response.get("Error", {}).get("Code") != "ResourceInUse":
                raise


def find_job(aws: Aws, name: str) -> TransformJob:
    """The job `name`. Raises SemifError."""
    with aws_errors():
        description = aws.sagemaker.describe_transform_job(TransformJobName=name)
    return TransformJob(
        name,
        description["TransformJobStatus"],
        description.get("FailureReason"),
        "TransformStartTime" in description,
    )


def stop_job(aws: Aws, name: str) -> None:
    """Ask for the end of a job, which takes its time. Raises SemifError."""
    with aws_errors():
        aws.sagemaker.stop_transform_job(TransformJobName=name)


def jobs_of(aws: Aws, endpoint_name: str, transform_name: str = "") -> Iterator[TransformJob]:
    """The jobs of an environment, or of one of its transforms, newest first. Raises SemifError."""
    pattern = job_pattern(endpoint_name, transform_name)
    with aws_errors():
        pages = aws.sagemaker.get_paginator("list_transform_jobs").paginate(
            NameContains=f"{endpoint_name}-{transform_name}", SortBy="CreationTime", SortOrder="Descending"
        )
        for page in pages:
            for summary in page["TransformJobSummaries"]:
                if pattern.fullmatch(name := summary["TransformJobName"]):
                    yield TransformJob(name, summary["TransformJobStatus"], summary.get("FailureReason"))


def job_pattern(endpoint_name: str, transform_name: str = "") -> re.Pattern[str]:
    """What the names of these jobs look like; an environment's name may begin with another's."""
    return re.compile(f"{re.escape(endpoint_name)}-{transform_name or '[0-9a-f]{12}'}-[0-9]+")
