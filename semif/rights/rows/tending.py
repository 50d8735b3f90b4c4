"""What labelling of captured requests, pruning and a verification take, besides the rest."""

from semif.environment.environment import Environment
from semif.rights.conditions import everything, has_endpoint, has_image, is_built, key_of
from semif.rights.right import Right
from semif.sagemaker.bucket_folders import CAPTURED


def _may_capture(environment: Environment) -> bool:
    """Whether `[data_capture]` may be in its file; a verification has it in any case."""
    return environment.serving_kind.runs_adapter and environment.endpoint.mode == "realtime"


TENDING: tuple[Right, ...] = (
    Right(
        "find what was captured",
        ("cloudformation:DescribeStacks",),
        lambda place: place.stacks,
        ("label", "verify"),
        _may_capture,
    ),
    Right(
        "read what was captured, which is callers' texts",
        ("s3:GetObject", "s3:ListBucket"),
        lambda place: (place.lines_bucket, f"{place.lines_bucket}/{CAPTURED}/*"),
        ("label", "verify"),
        _may_capture,
    ),
    Right(
        "read it with the key of `[encryption]`",
        ("kms:Decrypt",),
        lambda place: key_of(place.environment),
        ("label", "verify"),
        lambda environment: _may_capture(environment) and environment.encryption is not None,
    ),
    Right(
        "find the bucket and the repository to prune",
        ("cloudformation:DescribeStacks",),
        lambda place: place.stacks,
        ("prune",),
    ),
    Right(
        "see what Models and endpoints there are",
        ("sagemaker:ListModels", "sagemaker:ListEndpoints"),
        everything,
        ("prune",),
    ),
    Right(
        "see what these name",
        ("sagemaker:DescribeModel", "sagemaker:DescribeEndpoint", "sagemaker:DescribeEndpointConfig"),
        lambda place: tuple(
            place.arn("sagemaker", f"{kind}/*") for kind in ("model", "endpoint", "endpoint-config")
        ),
        ("prune",),
    ),
    Right(
        "delete what nothing names from the bucket",
        ("s3:ListBucketVersions", "s3:DeleteObjectVersion"),
        lambda place: (
            place.model_bucket,
            *(f"{place.model_bucket}/{folder}/*" for folder in ("sources", "models", "images")),
        ),
        ("prune",),
        is_built,
    ),
    Right(
        "delete images that nothing names",
        ("ecr:DescribeImages", "ecr:BatchGetImage", "ecr:BatchDeleteImage"),
        lambda place: (place.repository,),
        ("prune",),
        has_image,
    ),
    Right(
        "take back an update that a verification stops in",
        ("cloudformation:CancelUpdateStack",),
        lambda place: place.stacks,
        ("verify",),
    ),
    Right(
        "provoke a rollback",
        ("cloudwatch:SetAlarmState",),
        lambda place: (place.arn("cloudwatch", "alarm:*"),),
        ("verify",),
        has_endpoint,
    ),
    Right(
        "read the figures",
        ("cloudwatch:GetMetricStatistics",),
        everything,
        ("verify",),
        has_endpoint,
    ),
)
