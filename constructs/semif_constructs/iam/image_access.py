"""Pulling a pinned image from a private ECR registry."""

import re

from aws_cdk import Stack
from aws_cdk import aws_iam as iam
from constructs import Construct

from semif.images.image_ref import ImageRef
from semif.images.regional_images import registry_of

PULL_ACTIONS = ("ecr:BatchCheckLayerAvailability", "ecr:BatchGetImage", "ecr:GetDownloadUrlForLayer")
"""What pulling from a repository takes, besides a token for its registry."""

_PRIVATE_ECR = re.compile(r"([0-9]{12})\.dkr\.ecr\.([a-z0-9-]+)\..+")


def repository_arn(scope: Construct, image: ImageRef) -> str | None:
    """ARN of the private ECR repository that holds `image`, None where it lies in another registry."""
    match = _PRIVATE_ECR.fullmatch(image.registry)
    if match is None or image.registry != registry_of(*match.groups()):
        return None
    account, region = match.groups()
    name = image.repository.removeprefix(f"{image.registry}/")
    return f"arn:{Stack.of(scope).partition}:ecr:{region}:{account}:repository/{name}"


def grant_pull(grantee: iam.IGrantable, arn: str) -> iam.Grant:
    """Let `grantee` pull from the one repository; it also needs a token (`ecr:GetAuthorizationToken`)."""
    return iam.Grant.add_to_principal(grantee=grantee, actions=list(PULL_ACTIONS), resource_arns=[arn])
