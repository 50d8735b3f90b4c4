"""Pulling a pinned image from a private ECR registry."""

from aws_cdk import Stack
from aws_cdk import aws_iam as iam
from constructs import Construct

from semif.images.image_ref import ImageRef
from semif.images.regional_images import private_repository

PULL_ACTIONS = ("ecr:BatchCheckLayerAvailability", "ecr:BatchGetImage", "ecr:GetDownloadUrlForLayer")
"""What pulling from a repository takes, besides a token for its registry."""


def repository_arn(scope: Construct, image: ImageRef) -> str | None:
    """ARN of the private ECR repository that holds `image`, None where it lies in another registry."""
    private = private_repository(image.repository)
    if private is None:
        return None
    account, region, name = private
    return f"arn:{Stack.of(scope).partition}:ecr:{region}:{account}:repository/{name}"


def grant_pull(grantee: iam.IGrantable, arn: str) -> iam.Grant:
    """Let `grantee` pull from the one repository; it also needs a token (`ecr:GetAuthorizationToken`)."""
    return iam.Grant.add_to_principal(grantee=grantee, actions=list(PULL_ACTIONS), resource_arns=[arn])
