"""What an endpoint runs, and whether that is what the lock pins."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

from semif.aws.clients import Aws, aws_errors
from semif.lock.lock_file import Lock

if TYPE_CHECKING:
    from mypy_boto3_sagemaker.type_defs import (
        ContainerDefinitionOutputTypeDef,
        DescribeEndpointOutputTypeDef,
        ProductionVariantOutputTypeDef,
    )

IN_SERVICE = "InService"


@dataclass(frozen=True)
class EndpointState:
    """One endpoint as SageMaker tells of it: its status, and the pins of the model behind it."""

    name: str
    variant: str
    status: str
    failure_reason: str | None
    config: str
    instance_types: tuple[str, ...]
    """The one type, or those of the pool in order of preference."""
    instances: int
    desired_instances: int
    image: str
    model_data: str
    """The archive, the prefix of the files, or the address that the container downloads from."""
    fallback_image: str | None = None
    """Of the pool's types that run a Model of their own; None: there are none."""
    asynchronous: bool = False
    """Whether it takes requests by a queue."""

    def runs(self, lock: Lock) -> bool:
        """Whether it runs the images and the model that `lock` pins."""
        mine = (self.image, self.model_data, self.fallback_image or lock.fallback_image_uri)
        return mine == (lock.image_uri, lock.model.address, lock.fallback_image_uri)

    def problems(self, lock: Lock, *, stack_config: str | None) -> Iterator[str]:
        """Why this is not a healthy endpoint of `lock` and of its stack's configuration.

        An update that SageMaker rolled back is InService, on the configuration it had before, even where
        CloudFormation took the update for done. `stack_config` is None where the stack has none.
        """
        if self.status != IN_SERVICE:
            yield f"the endpoint {self.name} is {self.status}, not {IN_SERVICE}"
        if self.failure_reason:
            yield f"SageMaker says: {self.failure_reason}"
        # Names in SageMaker's ARNs, which CloudFormation may tell instead, are in lower case.
        if stack_config is not None and stack_config.lower() != self.config.lower():
            yield (
                f"it runs the configuration {self.config}, its stack has {stack_config}: SageMaker rolled "
                "the update back, or somebody changed the endpoint by hand"
            )
        if self.image != lock.image_uri:
            yield f"it runs the image {self.image}, the lock pins {lock.image_uri}"
        if self.fallback_image not in {None, lock.fallback_image_uri}:
            yield (
                f"its last types run the image {self.fallback_image}, the lock pins {lock.fallback_image_uri}"
            )
        if self.model_data != lock.model.address:
            yield f"it runs the model {self.model_data}, the lock pins {lock.model.address}"


def describe_endpoint(aws: Aws, name: str) -> "DescribeEndpointOutputTypeDef | None":
    """What SageMaker tells of the endpoint `name`, None where there is none."""
    with aws_errors():
        try:
            return aws.sagemaker.describe_endpoint(EndpointName=name)
        except ClientError as error:
            if "Could not find endpoint" in error.response.get("Error", {}).get("Message", ""):
                return None
            raise


def find_endpoint(aws: Aws, name: str) -> EndpointState | None:
    """The endpoint `name`, None where there is none."""
    endpoint = describe_endpoint(aws, name)
    if endpoint is None:
        return None
    with aws_errors():
        config = aws.sagemaker.describe_endpoint_config(EndpointConfigName=endpoint["EndpointConfigName"])
        (variant,) = config["ProductionVariants"]
        container = _container(aws, variant["ModelName"])
        overrides = {pool.get("ModelNameOverride") for pool in variant.get("InstancePools", [])} - {None}
        fallback = _container(aws, str(overrides.pop())) if overrides else None
    running = endpoint.get("ProductionVariants", [])
    return EndpointState(
        name=name,
        variant=variant["VariantName"],
        status=endpoint["EndpointStatus"],
        failure_reason=endpoint.get("FailureReason"),
        config=endpoint["EndpointConfigName"],
        instance_types=_instance_types(variant),
        instances=running[0].get("CurrentInstanceCount", 0) if running else 0,
        desired_instances=running[0].get("DesiredInstanceCount", 0) if running else 0,
        image=container.get("Image", ""),
        model_data=model_data_of(container),
        fallback_image=fallback.get("Image", "") if fallback is not None else None,
        asynchronous="AsyncInferenceConfig" in endpoint,
    )


def _container(aws: Aws, model_name: str) -> "ContainerDefinitionOutputTypeDef":
    return aws.sagemaker.describe_model(ModelName=model_name)["PrimaryContainer"]


def model_data_of(container: "ContainerDefinitionOutputTypeDef") -> str:
    """Where a Model's container has its model from."""
    source = container.get("ModelDataSource", {}).get("S3DataSource", {}).get("S3Uri")
    downloaded = container.get("Environment", {}).get("SM_LLAMA_CPP_MODEL_URL", "")
    return source or container.get("ModelDataUrl") or downloaded


def _instance_types(variant: "ProductionVariantOutputTypeDef") -> tuple[str, ...]:
    pools = sorted(variant.get("InstancePools", []), key=lambda pool: pool["Priority"])
    return tuple(pool["InstanceType"] for pool in pools) or (variant["InstanceType"],)
