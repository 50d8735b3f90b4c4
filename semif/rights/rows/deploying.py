"""What building, deploying, registering and removing an environment takes."""

from semif.environment.environment import Environment
from semif.rights.conditions import everything, has_endpoint, has_image, is_built, key_of
from semif.rights.place import Place
from semif.rights.right import Right


def _is_registered(environment: Environment) -> bool:
    return environment.registry is not None


def _registry(place: Place) -> tuple[str, ...]:
    registry = place.environment.registry
    if registry is None:
        return ()
    return (
        place.arn("sagemaker", f"model-package-group/{registry.group}"),
        place.arn("sagemaker", f"model-package/{registry.group}/*"),
    )


DEPLOYING: tuple[Right, ...] = (
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
        is_built,
        tagged=True,
    ),
    Right(
        "read the builds' logs",
        ("logs:GetLogEvents",),
        lambda place: place.log_group(f"{place.environment.artifacts_stack}-*"),
        ("deploy",),
        is_built,
    ),
    Right(
        "put source zips, and what is promoted, into the model bucket",
        ("s3:PutObject", "s3:AbortMultipartUpload"),
        lambda place: tuple(f"{place.model_bucket}/{folder}/*" for folder in ("sources", "models", "images")),
        ("deploy",),
        is_built,
    ),
    Right(
        "look there for the model, read what is promoted",
        # The last for the one version that was uploaded, which is read back ("GetObject", S3's API reference
        # in botocore's service model, read 2026-12-01).
        ("s3:GetObject", "s3:GetObjectVersion", "s3:ListBucket"),
        lambda place: (place.model_bucket, f"{place.model_bucket}/*"),
        ("deploy",),
        is_built,
    ),
    Right(
        "take away what was promoted with other bytes",
        ("s3:DeleteObject", "s3:DeleteObjectVersion"),
        lambda place: (f"{place.model_bucket}/models/*",),
        ("deploy",),
        is_built,
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
        has_image,
    ),
    Right(
        "see what its scan found",
        ("ecr:DescribeImageScanFindings",),
        lambda place: (place.repository,),
        ("deploy",),
        has_image,
    ),
    Right(
        "use the key of `[encryption]`",
        ("kms:Decrypt", "kms:GenerateDataKey"),
        lambda place: key_of(place.environment),
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
        has_endpoint,
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
        everything,
        ("deploy",),
        _is_registered,
    ),
    Right(
        "see whether it is scaled",
        ("application-autoscaling:DescribeScalableTargets",),
        everything,
        ("deploy", "diff"),
        has_endpoint,
    ),
)
