"""Where SageMaker writes what a container prints, and the figures of its instances, with the Model's role."""

from aws_cdk import Stack
from aws_cdk import aws_iam as iam

from semif_constructs.iam.nag_findings import acknowledge_wildcard


def allow_container_log(
    policy: iam.Policy, *, creates_log_group: bool, log_group: str, namespace: str
) -> None:
    """Let `policy` write to the group named `log_group`, and metrics.

    Where the group is there already it need not make one: `creates_log_group` is False. `namespace` is that
    of the instances' metrics. The actions are those of "CreateModel API: Execution Role Permissions" in
    SageMaker's developer guide, as far as they concern these two.
    """
    stack = Stack.of(policy)
    group = f"arn:{stack.partition}:logs:{stack.region}:{stack.account}:log-group:{log_group}"
    streams = f"{group}:log-stream:*"
    actions = ["logs:CreateLogStream", "logs:DescribeLogStreams", "logs:PutLogEvents"]
    policy.add_statements(
        iam.PolicyStatement(
            actions=["logs:CreateLogGroup", *actions] if creates_log_group else actions,
            resources=[group, streams],
        ),
        iam.PolicyStatement(
            actions=["cloudwatch:PutMetricData"],
            resources=["*"],
            conditions={"StringEquals": {"cloudwatch:namespace": ["AWS/SageMaker", namespace]}},
        ),
    )
    acknowledge_wildcard(
        policy,
        "*",
        "cloudwatch:PutMetricData knows no resources; the metrics are limited to SageMaker's namespaces",
    )
    acknowledge_wildcard(policy, streams, "SageMaker names the log streams after its instances")
