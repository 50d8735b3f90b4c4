"""What both stacks of an environment share: its place, its tags, its key, the bound of its roles."""

from aws_cdk import Environment as AwsEnvironment
from aws_cdk import Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from constructs import Construct

from semif.environment.environment import Environment


class EnvironmentStack(Stack):
    """A stack of an environment."""

    def __init__(
        self,
        scope: Construct,
        name: str,
        *,
        account: str | None,
        description: str,
        environment: Environment,
        region: str | None,
    ) -> None:
        """Make the stack `name`; account and region that are None are those of the credentials."""
        super().__init__(
            scope,
            name,
            description=f"Semif {environment.name}: {description}",
            env=AwsEnvironment(account=account, region=region),
            stack_name=name,
            tags=environment.aws_tags,
        )
        if environment.permissions_boundary is not None:
            boundary = iam.ManagedPolicy.from_managed_policy_arn(
                self, "PermissionsBoundary", environment.permissions_boundary
            )
            iam.PermissionsBoundary.of(self).apply(boundary)
        self.encryption_key: kms.IKey | None = None
        if environment.encryption is not None:
            self.encryption_key = kms.Key.from_key_arn(
                self, "EncryptionKey", environment.encryption.kms_key_arn
            )
