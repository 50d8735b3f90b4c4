"""Where a variant with instance pools is placed, and what DescribeEndpoint tells of it."""

from typing import Any

from local_aws.core.api import Params


def placed_pool(variant: dict[str, Any]) -> dict[str, Any]:
    """The pool that this machine has capacity of; an empty one for a variant without pools.

    GPU types have none here, as far as the variant also has others: the library on this machine has no CUDA.
    """
    pools = _pools(variant)
    without_gpu = [pool for pool in pools if pool["InstanceType"].split(".")[1][0] not in "gp"]
    return next(iter(without_gpu or pools), {})


def instance_types(variant: dict[str, Any]) -> set[str]:
    """The types that a variant may run on: its one, or those of its pools."""
    pools = _pools(variant)
    return {pool["InstanceType"] for pool in pools} if pools else {variant["InstanceType"]}


def variant_summary(variant: dict[str, Any], container: dict[str, Any], placed: dict[str, Any]) -> Params:
    """What DescribeEndpoint tells of a variant: all instances come from the pool `placed`."""
    count, weight = variant.get("InitialInstanceCount", 1), variant.get("InitialVariantWeight", 1.0)
    summary: Params = {
        "VariantName": variant["VariantName"],
        "CurrentWeight": weight,
        "DesiredWeight": weight,
        "CurrentInstanceCount": count,
        "DesiredInstanceCount": count,
    }
    if container.get("Image"):
        summary["DeployedImages"] = [{"SpecifiedImage": container["Image"]}]
    if variant.get("RoutingConfig"):
        summary["RoutingConfig"] = variant["RoutingConfig"]
    if pools := _pools(variant):
        summary["InstancePools"] = [
            {"InstanceType": pool["InstanceType"], "CurrentInstanceCount": count if pool is placed else 0}
            for pool in pools
        ]
    return summary


def _pools(variant: dict[str, Any]) -> list[dict[str, Any]]:
    return sorted(variant.get("InstancePools", []), key=lambda pool: int(pool["Priority"]))
