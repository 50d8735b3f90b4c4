"""Endpoints of the local AWS whose container is CONTAINER, and waiting for any."""

from pathlib import Path
from typing import Any

from tests.support.machine.waiting import eventually
from tests.support.servers.local_aws import MODEL_ARCHIVE, MODEL_BUCKET, LocalAws

POOLS = (
    {"InstanceType": "ml.g5.xlarge", "Priority": 2},
    {"InstanceType": "ml.g6.xlarge", "Priority": 1},
)


def create(
    aws: LocalAws,
    container: Path,
    name: str,
    *,
    archive: str = MODEL_ARCHIVE,
    prefix: str | None = None,
    startup_seconds: int = 60,
    queue: dict[str, Any] | None = None,
    pools: tuple[dict[str, Any], ...] = POOLS,
    capture: dict[str, Any] | None = None,
    **environment: str,
) -> None:
    """Create Model (with an archive or a prefix), EndpointConfig (two `pools`) and Endpoint of one name.

    With `queue`, its AsyncInferenceConfig, the endpoint is asynchronous; `capture` is its DataCaptureConfig.
    """
    data: Any = {"ModelDataUrl": f"s3://{MODEL_BUCKET}/{archive}"}
    if prefix is not None:
        source = {
            "S3DataType": "S3Prefix",
            "CompressionType": "None",
            "S3Uri": f"s3://{MODEL_BUCKET}/{prefix}",
        }
        data = {"ModelDataSource": {"S3DataSource": source}}
    aws.sagemaker.create_model(
        ModelName=name,
        ExecutionRoleArn=f"arn:aws:iam::{aws.account}:role/hosting",
        PrimaryContainer={
            "Image": f"{aws.account}.dkr.ecr.{aws.region}.amazonaws.com/adapter@sha256:{'0' * 64}",
            **data,
            "Environment": {"PYTHONPATH": str(container), **environment},
        },
        EnableNetworkIsolation=True,
    )
    given = {"AsyncInferenceConfig": queue, "DataCaptureConfig": capture}
    configured: Any = {name: value for name, value in given.items() if value is not None}
    aws.sagemaker.create_endpoint_config(
        EndpointConfigName=name,
        **configured,
        ProductionVariants=[
            {
                "VariantName": "primary",
                "ModelName": name,
                "InitialInstanceCount": 1,
                "InstancePools": [dict(pool) for pool in pools],
                "VariantInstanceProvisionTimeoutInSeconds": 300,
                "ContainerStartupHealthCheckTimeoutInSeconds": startup_seconds,
            }
        ],
    )
    reply = aws.sagemaker.create_endpoint(EndpointName=name, EndpointConfigName=name)
    assert reply["EndpointArn"].endswith(f":endpoint/{name}")


def settled(aws: LocalAws, name: str) -> tuple[str, str]:
    """Status and failure reason of an endpoint that is no longer starting."""
    endpoint = eventually(
        lambda: aws.sagemaker.describe_endpoint(EndpointName=name),
        lambda endpoint: endpoint["EndpointStatus"] not in {"Creating", "Updating"},
    )
    return endpoint["EndpointStatus"], endpoint.get("FailureReason", "")
