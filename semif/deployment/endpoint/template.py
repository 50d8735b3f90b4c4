"""What a synthesised template says of an endpoint: where it runs, and how long its deployment may take."""

from collections.abc import Mapping
from typing import Any

from semif.sagemaker.placement import longest_start_seconds

OTHER_RESOURCES_SECONDS = 2 * 3600
"""For everything in a stack that is no endpoint."""

Template = Mapping[str, Any]


def resources(template: Template, resource_type: str) -> dict[str, Mapping[str, Any]]:
    """The properties of the template's resources of a type, by logical id."""
    return {
        name: resource.get("Properties", {})
        for name, resource in template.get("Resources", {}).items()
        if resource["Type"] == resource_type
    }


def configurations(template: Template) -> dict[str, Mapping[str, Any]]:
    """The endpoint configurations: where one of them changes, the endpoint moves to it."""
    return resources(template, "AWS::SageMaker::EndpointConfig")


def instance_types(template: Template) -> list[str]:
    """The instance types of the template's endpoint, in order of preference; none without an endpoint."""
    found = []
    for variant in _variants(template):
        pools = sorted(variant.get("InstancePools", []), key=lambda pool: pool["Priority"])
        found += [pool["InstanceType"] for pool in pools] or [variant["InstanceType"]]
    return found


def deploy_seconds(template: Template) -> int:
    """The longest that CloudFormation may work on a stack of this template.

    Its endpoint starts, or moves within the time limit of its update policy; where that fails CloudFormation
    moves it back, under the same limit.
    """
    starts = [_start_seconds(variant) for variant in _variants(template)]
    updates: list[int] = [
        policy.get("MaximumExecutionTimeoutInSeconds", 0) + policy.get("TerminationWaitInSeconds", 0)
        for endpoint in resources(template, "AWS::SageMaker::Endpoint").values()
        for policy in _policies(endpoint)
    ]
    return OTHER_RESOURCES_SECONDS + 2 * max([0, *starts, *updates])


def _variants(template: Template) -> list[Mapping[str, Any]]:
    return [
        variant for config in configurations(template).values() for variant in config["ProductionVariants"]
    ]


def _policies(endpoint: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    config = endpoint.get("DeploymentConfig", {})
    kinds = ("BlueGreenUpdatePolicy", "RollingUpdatePolicy")
    return [config[kind] for kind in kinds if kind in config]


def _start_seconds(variant: Mapping[str, Any]) -> int:
    return longest_start_seconds(
        download_seconds=variant["ModelDataDownloadTimeoutInSeconds"],
        pool="InstancePools" in variant,
        provision_timeout_seconds=variant.get("VariantInstanceProvisionTimeoutInSeconds"),
        startup_seconds=variant["ContainerStartupHealthCheckTimeoutInSeconds"],
    )
