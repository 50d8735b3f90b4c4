"""What an endpoint runs, and whether that is what the lock pins."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

from semif.aws import Aws, aws_errors
from semif.lock import Lock

if TYPE_CHECKING:
    from mypy_boto3_sagemaker.type_defs import ProductionVariantOutputTypeDef

IN_SERVICE = "InService"


@dataclass(frozen=True)
class EndpointState:
    """One endpoint as SageMaker tells of it: its status, and the pins of the model behind it."""

    name: str
    status: str
    failure_reason: str | None
    config: str
    instance_types: tuple[str, ...]
    """The one type, or those of the pool in order of preference."""
    instances: int
    image: str
    model_data: str

    def problems(self, lock: Lock) -> Iterator[str]:
        """Why this is not a healthy endpoint of `lock`. A rolled-back update is InService on its old pins."""
        if self.status != IN_SERVICE:
            yield f"the endpoint {self.name} is {self.status}, not {IN_SERVICE}"
        if self.failure_reason:
            yield f"SageMaker says: {self.failure_reason}"
        if self.image != lock.image_uri:
            yield f"it runs the image {self.image}, the lock pins {lock.image_uri}"
        if self.model_data != lock.model.s3_uri:
            yield f"it runs the model {self.model_data}, the lock pins {lock.model.s3_uri}"


def find_endpoint(aws: Aws, name: str) -> EndpointState | None:
    """The endpoint `name`, None where there is none."""
    with aws_errors():
        try:
            endpoint = aws.sagemaker.describe_endpoint(EndpointName=name)
        except ClientError as error:
            if "Could not find endpoint" in error.response.get("Error", {}).get("Message", ""):
                return None
            raise
        config = aws.sagemaker.describe_endpoint_config(EndpointConfigName=endpoint["EndpointConfigName"])
        (variant,) = config["ProductionVariants"]
        model = aws.sagemaker.describe_model(ModelName=variant["ModelName"])
    container = model["PrimaryContainer"]
    running = endpoint.get("ProductionVariants", [{}])
    return EndpointState(
        name=name,
        status=endpoint["EndpointStatus"],
        failure_reason=endpoint.get("FailureReason"),
        config=endpoint["EndpointConfigName"],
        instance_types=_instance_types(variant),
        instances=running[0].get("CurrentInstanceCount", 0),
        image=container.get("Image", ""),
        model_data=container.get("ModelDataUrl", ""),
    )


def _instance_types(variant: "ProductionVariantOutputTypeDef") -> tuple[str, ...]:
    pools = sorted(variant.get("InstancePools", []), key=lambda pool: pool["Priority"])
    return tuple(pool["InstanceType"] for pool in pools) or (variant["InstanceType"],)
