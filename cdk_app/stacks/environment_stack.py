"""What both stacks of an environment share: its place, bootstrap, tags, key, the bound of its roles."""

from collections.abc import Sequence

from aws_cdk import Annotations, DefaultStackSynthesizer, Stack
from aws_cdk import Environment as AwsEnvironment
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
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
            synthesizer=_synthesizer(environment.bootstrap_qualifier),
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

    def subnets(self, ids: Sequence[str]) -> list[ec2.ISubnet]:
        """The subnets by their ids; nothing is looked up. At most once in a stack."""
        found = []
        for number, subnet_id in enumerate(ids, start=1):
            subnet = ec2.Subnet.from_subnet_id(self, f"Subnet{number}", subnet_id)
            Annotations.of(subnet).acknowledge_warning(
                "@aws-cdk/aws-ec2:noSubnetRouteTableId", "no route is made here"
            )
            found.append(subnet)
        return found

    def security_groups(self, ids: Sequence[str]) -> list[ec2.ISecurityGroup]:
        """The security groups by their ids, which nothing is added to. At most once in a stack."""
        return [
            ec2.SecurityGroup.from_security_group_id(self, f"SecurityGroup{number}", group_id, mutable=False)
            for number, group_id in enumerate(ids, start=1)
        ]

    def existing_bucket(self, construct_id: str, bucket_name: str) -> s3.IBucket:
        """A bucket that is there already, encrypted with the environment's key where that has one."""
        return s3.Bucket.from_bucket_attributes(
            self, construct_id, bucket_name=bucket_name, encryption_key=self.encryption_key
        )


def _synthesizer(qualifier: str | None) -> DefaultStackSynthesizer | None:
    """Deploys by the roles and the bucket of that bootstrap; None: by those of the CDK's default."""
    return DefaultStackSynthesizer(qualifier=qualifier) if qualifier is not None else None
