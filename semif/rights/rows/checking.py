"""What is read before a deployment and of what runs: nothing changes by it."""

from semif.images.base_images import base_image
from semif.rights.conditions import everything, has_endpoint, in_mode, key_of
from semif.rights.place import Place
from semif.rights.right import Right
from semif.sagemaker.log_groups import TRANSFORM_LOG_GROUP, log_group


def _published_repository(place: Place) -> tuple[str, ...]:
    bases = (base_image(placed.base_container) for placed in place.environment.placements)
    names = dict.fromkeys(base.repository.rpartition("/")[2] for base in bases)
    return tuple(f"arn:{place.partition}:ecr:{place.region}:*:repository/{name}" for name in names)


CHECKING: tuple[Right, ...] = (
    Right(
        "check the CDK's bootstrap",
        ("ssm:GetParameter",),
        lambda place: (place.bootstrap_version,),
        ("deploy", "diff"),
    ),
    Right(
        "check the quotas",
        ("servicequotas:ListServiceQuotas", "servicequotas:ListAWSDefaultServiceQuotas"),
        everything,
        ("deploy", "diff"),
    ),
    Right(
        "check the key of `[encryption]`",
        ("kms:GetKeyPolicy",),
        lambda place: key_of(place.environment),
        ("deploy", "diff"),
        lambda environment: environment.encryption is not None,
    ),
    Right(
        "check the buckets of `[existing]`",
        ("s3:ListBucket", "s3:GetBucketVersioning", "s3:GetEncryptionConfiguration"),
        lambda place: tuple(
            f"arn:{place.partition}:s3:::{bucket}" for bucket in place.environment.existing.buckets
        ),
        ("deploy", "diff"),
        lambda environment: bool(environment.existing.buckets),
    ),
    Right(
        "check the role of `[existing]`",
        ("iam:GetRole",),
        lambda place: (place.environment.existing.role_arn or "",),
        ("deploy", "diff"),
        lambda environment: environment.existing.role_arn is not None,
    ),
    Right(
        "look up prices (optional)",
        ("pricing:GetProducts",),
        everything,
        ("deploy", "diff"),
    ),
    Right(
        "check the alarms of `[deployment]`",
        ("cloudwatch:DescribeAlarms",),
        everything,
        ("deploy", "diff"),
        lambda environment: environment.deployment is not None,
    ),
    Right(
        "check that a published container is where it is pulled from",
        ("ecr:BatchGetImage",),
        _published_repository,
        ("deploy", "diff"),
        lambda environment: not environment.serving_kind.runs_adapter,
    ),
    Right(
        "read the endpoint's log",
        ("logs:DescribeLogStreams", "logs:FilterLogEvents", "logs:GetLogEvents"),
        lambda place: place.log_group(log_group(place.environment.endpoint_name)),
        ("deploy", "diff"),
        has_endpoint,
    ),
    Right(
        "read the log of transform jobs",
        ("logs:DescribeLogStreams", "logs:FilterLogEvents", "logs:GetLogEvents"),
        lambda place: place.log_group(TRANSFORM_LOG_GROUP),
        ("deploy", "call"),
        in_mode("batch"),
    ),
)
