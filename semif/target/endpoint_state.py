"""What an endpoint runs, and whether that is what the lock pins."""

from collections.abc import Iterator, Sequence
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
    """The one type, or those of the pool in order of preference; empty where SageMaker tells none."""
    instances: int
    desired_instances: int
    image: str
    model_data: str
    """The archive, the prefix of the files, or the address that the container downloads from."""
    fallback_image: str | None = None
    """Of the pool's types that run a Model of their own; None: there are none."""
    asynchronous: bool = False
    """Whether it takes requests by a queue."""
    unknown: str | None = None
    """Why image and model, which are empty then, cannot be told, in a line for people; None: they can."""

    def runs(self, lock: Lock) -> bool:
        """Whether it runs the images and the model that `lock` pins."""
        mine = (self.image, self.model_data, self.fallback_image or lock.fallback_image_uri)
        return mine == (lock.image_uri, lock.model.address, lock.fallback_image_uri)

    def has_config(self, name: str | None) -> bool:
        """Whether it runs the configuration `name`, of which CloudFormation may tell."""
        # Names in SageMaker's ARNs, which CloudFormation may tell instead, are in lower case.
        return name is not None and name.lower() == self.config.lower()

    def problems(self, lock: Lock, *, stack_config: str | None) -> Iterator[str]:
        """Why this is not a healthy endpoint of `lock` and of its stack's configuration.

        An update that SageMaker rolled back is InService, on the configuration it had before, even where
        CloudFormation took the update for done. `stack_config` is None where the stack has none.
        """
        if self.status != IN_SERVICE:
            yield f"the endpoint {self.name} is {self.status}, not {IN_SERVICE}"
        if self.failure_reason:
            yield f"SageMaker says: {self.failure_reason}"
        if stack_config is not None and not self.has_config(stack_config):
            yield (
                f"it runs the configuration {self.config}, its stack has {stack_config}: SageMaker rolled "
                "the update back, or somebody changed the endpoint by hand"
            )
        if self.unknown is not None:
            yield self.unknown
            return
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
    """The endpoint `name`, None where there is none.

    Somebody may have given it a configuration that no deployment makes, or deleted its configuration or its
    Model: then its state says why the pins are unknown.
    """
    endpoint = describe_endpoint(aws, name)
    if endpoint is None:
        return None
    config, running = endpoint["EndpointConfigName"], endpoint.get("ProductionVariants", [])
    pins, unknown = _Pins(), None
    with aws_errors():
        variants = _variants(aws, config)
        try:
            pins = _pins(aws, config, variants)
        except _UnknownPinsError as error:
            unknown = f"what {name} runs cannot be told: {error}"
    names = [one["VariantName"] for one in [*variants, *running]]
    types = dict.fromkeys(one for variant in variants for one in _instance_types(variant))
    return EndpointState(
        name=name,
        variant=names[0] if names else "",
        status=endpoint["EndpointStatus"],
        failure_reason=endpoint.get("FailureReason"),
        config=config,
        instance_types=tuple(types),
        instances=sum(one.get("CurrentInstanceCount", 0) for one in running),
        desired_instances=sum(one.get("DesiredInstanceCount", 0) for one in running),
        image=pins.image,
        model_data=pins.model_data,
        fallback_image=pins.fallback_image,
        asynchronous="AsyncInferenceConfig" in endpoint,
        unknown=unknown,
    )


def is_gone(error: ClientError) -> bool:
    """Whether SageMaker answers that there is no such endpoint, configuration or Model (any more)."""
    return "Could not find" in error.response.get("Error", {}).get("Message", "")


def model_data_of(container: "ContainerDefinitionOutputTypeDef") -> str:
    """Where a Model's container has its model from."""
    source = container.get("ModelDataSource", {}).get("S3DataSource", {}).get("S3Uri")
    downloaded = container.get("Environment", {}).get("SM_LLAMA_CPP_MODEL_URL", "")
    return source or container.get("ModelDataUrl") or downloaded


@dataclass(frozen=True)
class _Pins:
    """What an endpoint runs."""

    image: str = ""
    model_data: str = ""
    fallback_image: str | None = None


class _UnknownPinsError(Exception):
    """They cannot be told, for this reason."""


def _variants(aws: Aws, config: str) -> "list[ProductionVariantOutputTypeDef]":
    """Those of a configuration, of which there is one at least; none where it is gone.

    DeleteEndpointConfig "does not delete endpoints created using the configuration", of which "you may lose
    visibility into the instance type" (SageMaker's API reference in botocore, read 2026-12-01).
    """
    try:
        return aws.sagemaker.describe_endpoint_config(EndpointConfigName=config)["ProductionVariants"]
    except ClientError as error:
        if is_gone(error):
            return []
        raise


def _pins(aws: Aws, config: str, variants: "Sequence[ProductionVariantOutputTypeDef]") -> _Pins:
    if not variants:
        raise _UnknownPinsError(f"its configuration {config} was deleted")
    if len(variants) > 1:
        names = " and ".join(one["VariantName"] for one in variants)
        raise _UnknownPinsError(
            f"its configuration {config} has the variants {names}, a deployment makes one"
        )
    (variant,) = variants
    if "ModelName" not in variant:
        # A component names its model and its endpoint (CreateInferenceComponent, read as above).
        raise _UnknownPinsError(
            f"its configuration {config} names no model, as those of inference components do"
        )
    container = _container(aws, variant["ModelName"])
    overrides = {pool.get("ModelNameOverride") for pool in variant.get("InstancePools", [])} - {None}
    fallback = _container(aws, str(overrides.pop())).get("Image", "") if overrides else None
    return _Pins(container.get("Image", ""), model_data_of(container), fallback)


def _container(aws: Aws, model_name: str) -> "ContainerDefinitionOutputTypeDef":
    try:
        model = aws.sagemaker.describe_model(ModelName=model_name)
    except ClientError as error:
        if is_gone(error):
            raise _UnknownPinsError(f"its model {model_name} was deleted") from None
        raise
    containers = [*filter(None, [model.get("PrimaryContainer")]), *model.get("Containers", [])]
    if len(containers) != 1:
        raise _UnknownPinsError(
            f"its model {model_name} has {len(containers)} containers, a deployment makes one"
        )
    return containers[0]


def _instance_types(variant: "ProductionVariantOutputTypeDef") -> tuple[str, ...]:
    """Those of its pool, or the one; a serverless variant has none."""
    pools = sorted(variant.get("InstancePools", []), key=lambda pool: pool["Priority"])
    return tuple(pool["InstanceType"] for pool in pools) or tuple(
        [variant["InstanceType"]] if "InstanceType" in variant else []
    )
