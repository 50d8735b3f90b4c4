"""A customer's key for the volumes of instances."""

from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms


def volume_key_statement(key: kms.IKey) -> iam.PolicyStatement:
    """Lets a Model's role hand the use of `key` on to the volumes that AWS makes, and to nothing else.

    SageMaker's API reference asks for it where it speaks of endpoints' volumes (`VolumeKmsKeyId` of
    RecommendationJobInputConfig), its developer guide for transform jobs ("CreateTransformJob API: Execution
    Role Permissions"); both read 2026-11-30.
    """
    return iam.PolicyStatement(
        actions=["kms:CreateGrant"],
        conditions={"Bool": {"kms:GrantIsForAWSResource": "true"}},
        resources=[key.key_arn],
    )
