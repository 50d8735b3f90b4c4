"""What SageMaker lets no update of an endpoint do."""

from local_aws.core.api import Params
from local_aws.core.context import LocalContext
from local_aws.sagemaker.placement import instance_types
from local_aws.sagemaker.records import SageMakerRecords, refused


def check_update(
    context: LocalContext, records: SageMakerRecords, name: str, before: str, after: str
) -> None:
    """Raise ApiError where the endpoint `name` cannot move from one configuration to the other, by names.

    A queue stays what it is: "The AsyncInferenceConfig parameter cannot be removed from this endpoint"
    (SageMaker's ValidationException, as github.com/aws/sagemaker-python-sdk/pull/3124 quotes it; read
    2026-12-01; that none can be added is not quoted there). "If the update would change the instance type for
    any model that is a target for auto scaling, the update fails"
    (https://docs.aws.amazon.com/sagemaker/latest/dg/endpoint-scaling-update.html, read 2026-11-30): in words
    that nobody here has seen.
    """
    had, has = records.queue(before) is not None, records.queue(after) is not None
    if had != has:
        done = "removed from" if had else "added to"
        raise refused(f"The AsyncInferenceConfig parameter cannot be {done} this endpoint {name}.")
    old, new = records.variant(before), records.variant(after)
    if instance_types(old) != instance_types(new) and _is_scaled(context, name, old):
        raise refused(
            f"The instance type of the variant {old['VariantName']} of the endpoint {name} cannot change "
            "while it is a target of Application Auto Scaling; deregister it first."
        )


def _is_scaled(context: LocalContext, name: str, variant: Params) -> bool:
    reply: Params = context.client("application-autoscaling").describe_scalable_targets(
        ServiceNamespace="sagemaker", ResourceIds=[f"endpoint/{name}/variant/{variant['VariantName']}"]
    )
    return bool(reply["ScalableTargets"])
