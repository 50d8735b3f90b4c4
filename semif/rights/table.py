"""The one table of rights: what the commands call in AWS, on which resources, and for which task.

docs/deploying.md shows it and the policies of `semif iam` are made of it; tests compare both, and compare it
with every call of boto3 in the toolkit. What the roles of builds and containers may do is in the constructs.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from semif.environment.environment import Environment
from semif.images.base_images import base_image
from semif.rights.place import Place
from semif.sagemaker.bucket_folders import ANSWERS, CAPTURED, FAILURES, LINES, REQUESTS
from semif.sagemaker.log_groups import TRANSFORM_LOG_GROUP, log_group

Task = Literal["deploy", "diff", "call", "label", "prune", "verify"]
TASKS: tuple[Task, ...] = ("deploy", "diff", "call", "label", "prune", "verify")
"""Deploy, promote, operate and remove; compare and check, reading alone; ask; read what callers asked, to
label it; prune; verify, besides deploy."""


@dataclass(frozen=True)
class Right:
    """Actions that are allowed together, on the same resources."""

    purpose: str
    """What for, as the page says it."""
    actions: tuple[str, ...]
    resources: Callable[[Place], tuple[str, ...]]
    tasks: tuple[Task, ...]
    applies: Callable[[Environment], bool] = lambda _: True
    """Whether the environment needs it."""
    tagged: bool = False
    """Only on what carries the environment's tag, where CloudFormation's names do not tell whose it is."""


def _everything(_: Place) -> tuple[str, ...]:
    """For actions that know no resources, or whose resources have names that CloudFormation chooses."""
    return ("*",)


def _is_built(environment: Environment) -> bool:
    return environment.preset is not None


def _has_image(environment: Environment) -> bool:
    return _is_built(environment) and environment.serving_kind.runs_adapter


def _has_endpoint(environment: Environment) -> bool:
    return environment.inference_mode.has_endpoint


def _is_registered(environment: Environment) -> bool:
    return environment.registry is not None


def _may_capture(environment: Environment) -> bool:
    """Whether `[data_capture]` may be in its file; a verification has it in any case."""
    return environment.serving_kind.runs_adapter and environment.endpoint.mode == "realtime"


def _in_mode(*modes: str) -> Callable[[Environment], bool]:
    return lambda environment: environment.endpoint.mode in modes


def _published_repository(place: Place) -> tuple[str, ...]:
    bases = (base_image(placed.base_container) for placed in place.environment.placements)
    names = dict.fromkeys(base.repository.rpartition("/")[2] for base in bases)
    return tuple(f"arn:{place.partition}:ecr:{place.region}:*:repository/{name}" for name in names)


def _registry(place: Place) -> tuple[str, ...]:
    registry = place.environment.registry
    if registry is None:
        return ()
    return (
        place.arn("sagemaker", f"model-package-group/{registry.group}"),
        place.arn("sagemaker", f"model-package/{registry.group}/*"),
    )


RIGHTS = (
    Right(
        "deploy by the CDK's roles",
        ("sts:AssumeRole",),
        lambda place: tuple(place.bootstrap_role(kind) for kind in ("deploy", "file-publishing", "lookup")),
        ("deploy",),
    ),
    Right(
        "compare by the CDK's look-up role",
        ("sts:AssumeRole",),
        lambda place: (place.bootstrap_role("lookup"),),
        ("diff",),
    ),
    Right(
        "start and follow the builds",
        ("codebuild:StartBuild", "codebuild:BatchGetBuilds"),
        lambda place: (place.arn("codebuild", "project/*"),),
        ("deploy",),
        _is_built,
        tagged=True,
    ),
    Right(
        "read the builds' logs",
        ("logs:GetLogEvents",),
        lambda place: place.log_group(f"{place.environment.artifacts_stack}-*"),
        ("deploy",),
        _is_built,
    ),
    Right(
        "put source zips, and what is promoted, into the model bucket",
        ("s3:PutObject", "s3:AbortMultipartUpload"),
        lambda place: tuple(f"{place.model_bucket}/{folder}/*" for folder in ("sources", "models", "images")),
        ("deploy",),
        _is_built,
    ),
    Right(
        "look there for the model, read what is promoted",
        ("s3:GetObject", "s3:ListBucket"),
        lambda place: (place.model_bucket, f"{place.model_bucket}/*"),
        ("deploy",),
        _is_built,
    ),
    Right(
        "take away what was promoted with other bytes",
        ("s3:DeleteObject", "s3:DeleteObjectVersion"),
        lambda place: (f"{place.model_bucket}/models/*",),
        ("deploy",),
        _is_built,
    ),
    Right(
        "empty the stacks' own buckets in the end",
        ("s3:ListBucketVersions", "s3:DeleteObject", "s3:DeleteObjectVersion"),
        lambda place: tuple(arn for bucket in place.made_buckets for arn in (bucket, f"{bucket}/*")),
        ("deploy",),
        lambda environment: None in (environment.existing.bucket, environment.existing.files_bucket),
    ),
    Right(
        "promote an image",
        (
            "ecr:BatchGetImage",
            "ecr:GetDownloadUrlForLayer",
            "ecr:BatchCheckLayerAvailability",
            "ecr:InitiateLayerUpload",
            "ecr:UploadLayerPart",
            "ecr:CompleteLayerUpload",
            "ecr:PutImage",
        ),
        lambda place: (place.repository,),
        ("deploy",),
        _has_image,
    ),
    Right(
        "see what its scan found",
        ("ecr:DescribeImageScanFindings",),
        lambda place: (place.repository,),
        ("deploy",),
        _has_image,
    ),
    Right(
        "use the key of `[encryption]`",
        ("kms:Decrypt", "kms:GenerateDataKey"),
        lambda place: _key(place.environment),
        ("deploy", "call"),
        lambda environment: environment.encryption is not None,
    ),
    Right(
        "read the stacks",
        (
            "cloudformation:DescribeStacks",
            "cloudformation:DescribeStackEvents",
            "cloudformation:ListStackResources",
            "cloudformation:GetTemplate",
        ),
        lambda place: place.stacks,
        ("deploy", "diff"),
    ),
    Right(
        "delete the stacks",
        ("cloudformation:DeleteStack",),
        lambda place: place.stacks,
        ("deploy",),
    ),
    Right(
        "look at the endpoint",
        ("sagemaker:DescribeEndpoint",),
        lambda place: (place.endpoint,),
        ("deploy", "diff"),
        _has_endpoint,
    ),
    Right(
        "see what it runs",
        ("sagemaker:DescribeEndpointConfig", "sagemaker:DescribeModel"),
        lambda place: (place.arn("sagemaker", "endpoint-config/*"), place.arn("sagemaker", "model/*")),
        ("deploy", "diff"),
    ),
    Right(
        "register image and model, look for their approval",
        (
            "sagemaker:CreateModelPackageGroup",
            "sagemaker:CreateModelPackage",
            "sagemaker:DescribeModelPackageGroup",
            "sagemaker:DescribeModelPackage",
        ),
        _registry,
        ("deploy",),
        _is_registered,
    ),
    Right(
        "find them in the registry",
        ("sagemaker:ListModelPackages",),
        _everything,
        ("deploy",),
        _is_registered,
    ),
    Right(
        "see whether it is scaled",
        ("application-autoscaling:DescribeScalableTargets",),
        _everything,
        ("deploy", "diff"),
        _has_endpoint,
    ),
    Right(
        "ask it",
        ("sagemaker:InvokeEndpoint",),
        lambda place: (place.endpoint,),
        ("deploy", "call"),
        _in_mode("realtime"),
    ),
    Right(
        "ask kind text word by word",
        ("sagemaker:InvokeEndpointWithResponseStream",),
        lambda place: (place.endpoint,),
        ("deploy", "call"),
        lambda environment: environment.serving_kind.streams_words,
    ),
    Right(
        "ask by the queue",
        ("sagemaker:InvokeEndpointAsync", "sagemaker:DescribeEndpoint"),
        lambda place: (place.endpoint,),
        ("deploy", "call"),
        _in_mode("async"),
    ),
    Right(
        "run transform jobs",
        (
            "sagemaker:CreateTransformJob",
            "sagemaker:DescribeTransformJob",
            "sagemaker:StopTransformJob",
            "sagemaker:AddTags",
        ),
        lambda place: (
            place.arn("sagemaker", f"transform-job/{place.environment.endpoint_name}-*"),
            place.arn("sagemaker", "model/*"),
        ),
        ("deploy", "call"),
        _in_mode("batch"),
    ),
    Right(
        "find transform jobs and their model",
        ("sagemaker:ListTransformJobs", "sagemaker:DescribeModel"),
        _everything,
        ("deploy", "call"),
        _in_mode("batch"),
    ),
    Right(
        "hand requests to queues and transform jobs",
        ("s3:PutObject",),
        lambda place: tuple(f"{place.lines_bucket}/{folder}/*" for folder in (REQUESTS, LINES)),
        ("deploy", "call"),
        _in_mode("async", "batch"),
    ),
    Right(
        "take their answers",
        ("s3:GetObject", "s3:ListBucket"),
        lambda place: (
            place.lines_bucket,
            *(f"{place.lines_bucket}/{folder}/*" for folder in (REQUESTS, LINES, ANSWERS, FAILURES)),
        ),
        ("deploy", "call"),
        _in_mode("async", "batch"),
    ),
    Right(
        "find their bucket",
        ("cloudformation:DescribeStacks", "cloudformation:ListStackResources"),
        lambda place: place.stacks,
        ("call",),
        _in_mode("async", "batch"),
    ),
    Right(
        "check the CDK's bootstrap",
        ("ssm:GetParameter",),
        lambda place: (place.bootstrap_version,),
        ("deploy", "diff"),
    ),
    Right(
        "check the quotas",
        ("servicequotas:ListServiceQuotas", "servicequotas:ListAWSDefaultServiceQuotas"),
        _everything,
        ("deploy", "diff"),
    ),
    Right(
        "check the key of `[encryption]`",
        ("kms:GetKeyPolicy",),
        lambda place: _key(place.environment),
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
        _everything,
        ("deploy", "diff"),
    ),
    Right(
        "check the alarms of `[deployment]`",
        ("cloudwatch:DescribeAlarms",),
        _everything,
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
        _has_endpoint,
    ),
    Right(
        "read the log of transform jobs",
        ("logs:DescribeLogStreams", "logs:FilterLogEvents", "logs:GetLogEvents"),
        lambda place: place.log_group(TRANSFORM_LOG_GROUP),
        ("deploy", "call"),
        _in_mode("batch"),
    ),
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
        lambda place: _key(place.environment),
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
        _everything,
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
        _is_built,
    ),
    Right(
        "delete images that nothing names",
        ("ecr:DescribeImages", "ecr:BatchGetImage", "ecr:BatchDeleteImage"),
        lambda place: (place.repository,),
        ("prune",),
        _has_image,
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
        _has_endpoint,
    ),
    Right(
        "read the figures",
        ("cloudwatch:GetMetricStatistics",),
        _everything,
        ("verify",),
        _has_endpoint,
    ),
)

OF_NO_ENVIRONMENT = {
    "ecr:GetAuthorizationToken": "`semif image pin --region`, on a maintainer's machine",
    "sts:GetCallerIdentity": "everybody may",
}
"""What is called, and belongs into no environment's policy, with the reason."""


def _key(environment: Environment) -> tuple[str, ...]:
    return (environment.encryption.kms_key_arn,) if environment.encryption is not None else ()
