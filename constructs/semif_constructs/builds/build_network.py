"""The VPC in which builds run."""

from collections.abc import Sequence
from dataclasses import dataclass

from aws_cdk import aws_codebuild as codebuild
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from constructs import Construct

from semif_constructs.iam.network_interfaces import allow_network_interfaces, in_subnets, interfaces_arn


@dataclass(frozen=True, kw_only=True)
class BuildNetwork:
    """Private subnets of one VPC, and security groups that let HTTPS out.

    CodeBuild gives its interfaces no public addresses: from there a build reaches S3, CloudWatch Logs, ECR
    and what it fetches through a NAT gateway or VPC endpoints.
    """

    security_groups: Sequence[ec2.ISecurityGroup]
    """One to five."""
    subnets: Sequence[ec2.ISubnet]
    """One to sixteen."""
    vpc_id: str

    @property
    def config(self) -> codebuild.CfnProject.VpcConfigProperty:
        """As a project has it."""
        return codebuild.CfnProject.VpcConfigProperty(
            security_group_ids=[group.security_group_id for group in self.security_groups],
            subnets=[subnet.subnet_id for subnet in self.subnets],
            vpc_id=self.vpc_id,
        )

    def policy(self, scope: Construct, role: iam.IRole) -> iam.Policy:
        """A policy of `role` with what CodeBuild needs; it refuses a project whose role has not got it yet.

        The actions, and that an interface may be handed to CodeBuild alone, are those of its user guide
        ("Allow CodeBuild access to AWS services required to create a VPC network interface") and of the CDK's
        own `Project`. Both allow them on every subnet and group, which is more than they need.
        """
        policy = iam.Policy(scope, "Network", roles=[role])
        allow_network_interfaces(policy, self.subnets, self.security_groups)
        policy.add_statements(
            iam.PolicyStatement(
                actions=["ec2:CreateNetworkInterfacePermission"],
                conditions={
                    **in_subnets(scope, self.subnets),
                    "StringEquals": {"ec2:AuthorizedService": "codebuild.amazonaws.com"},
                },
                resources=[interfaces_arn(scope)],
            )
        )
        return policy
