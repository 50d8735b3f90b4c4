"""How an endpoint moves to another configuration: the strategies, and what SageMaker does not combine."""

from typing import Any, get_args

import botocore.session
import pytest
from aws_cdk import Stack
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk.assertions import Template
from botocore.model import StructureShape
from hypothesis import given
from hypothesis import strategies as st

from semif.deployment.endpoint.template import deploy_seconds
from semif.errors import ProblemsError
from semif.sagemaker.placement import MAX_PROVISION_SECONDS, MIN_PROVISION_SECONDS
from semif.sagemaker.update_strategies import (
    ALARM_SECONDS,
    MAX_EXECUTION_SECONDS,
    MAX_WAIT_SECONDS,
    MIN_EXECUTION_SECONDS,
    Strategy,
    execution_problems,
    execution_seconds,
    step_percent,
    update_problems,
    waits,
)
from semif_constructs.hosting.update_policy import deployment_config

Templates = dict[str, Any]
ENDPOINT = "AWS::SageMaker::Endpoint"


def policy_of(
    stack: Stack,
    strategy: Strategy,
    instance_count: int = 4,
    alarms: int = 1,
    *,
    longest_start_seconds: int = 1400,
    wait_seconds: int = 600,
) -> dict[str, Any]:
    named = [
        cloudwatch.Alarm.from_alarm_arn(stack, f"A{n}", f"arn:aws:cloudwatch:x:1:alarm:a{n}")
        for n in range(alarms)
    ]
    made = deployment_config(
        instance_count=instance_count,
        rollback_alarms=named,
        longest_start_seconds=longest_start_seconds,
        strategy=strategy,
        wait_seconds=wait_seconds,
    )
    resolved: dict[str, Any] = stack.resolve(made)
    return resolved


def test_an_endpoint_goes_back_on_the_alarms_on_its_requests(templates: dict[str, Templates]) -> None:
    template = Template.from_json(templates["prod"]["Endpoint"])
    (endpoint,) = template.find_resources(ENDPOINT).values()
    config = endpoint["Properties"]["DeploymentConfig"]
    assert config["BlueGreenUpdatePolicy"] == {
        # Two waits, and a start: 600 s for capacity in the pool, 960 for the download, 660 for the container.
        "MaximumExecutionTimeoutInSeconds": 2 * 600 + 600 + 960 + 660,
        "TerminationWaitInSeconds": 600,
        "TrafficRoutingConfiguration": {
            "CanarySize": {"Type": "CAPACITY_PERCENT", "Value": 50},
            "Type": "CANARY",
            "WaitIntervalInSeconds": 600,
        },
    }
    alarms = template.find_resources("AWS::CloudWatch::Alarm")
    names = {
        alarms[alarm["AlarmName"]["Ref"]]["Properties"]["AlarmName"]
        for alarm in config["AutoRollbackConfiguration"]["Alarms"]
    }
    assert names == {
        f"semif-prod-{name}"
        for name in ("allowed-token-mass", "container-errors", "model-latency", "platform-errors", "refusals")
    }


def test_the_role_may_see_the_alarms_and_no_others(templates: dict[str, Templates]) -> None:
    template = Template.from_json(templates["prod"]["Endpoint"])
    (statement,) = [
        statement
        for policy in template.find_resources("AWS::IAM::Policy").values()
        for statement in policy["Properties"]["PolicyDocument"]["Statement"]
        if statement["Action"] == "cloudwatch:DescribeAlarms"
    ]
    alarms = template.find_resources("AWS::CloudWatch::Alarm")
    assert len(statement["Resource"]) == 5
    assert all(resource["Fn::GetAtt"][0] in alarms for resource in statement["Resource"])


def test_no_setting_leaves_sagemakers_own_way(templates: dict[str, Templates]) -> None:
    for name in ("dev", "text"):
        (endpoint,) = Template.from_json(templates[name]["Endpoint"]).find_resources(ENDPOINT).values()
        assert "DeploymentConfig" not in endpoint["Properties"]


@pytest.mark.parametrize(
    ("strategy", "routing"),
    [
        ("all-at-once", {"type": "ALL_AT_ONCE"}),
        ("canary", {"type": "CANARY", "canarySize": {"type": "CAPACITY_PERCENT", "value": 25}}),
        ("linear", {"type": "LINEAR", "linearStepSize": {"type": "CAPACITY_PERCENT", "value": 25}}),
    ],
)
def test_a_second_fleet_takes_over(stack: Stack, strategy: Strategy, routing: dict[str, Any]) -> None:
    policy = policy_of(stack, strategy)
    assert "rollingUpdatePolicy" not in policy
    assert policy["blueGreenUpdatePolicy"]["trafficRoutingConfiguration"] == {
        **routing,
        "waitIntervalInSeconds": 600,
    }
    assert policy["blueGreenUpdatePolicy"]["terminationWaitInSeconds"] == 600


def test_rolling_replaces_batches(stack: Stack) -> None:
    policy = policy_of(stack, "rolling")
    assert policy == {
        "autoRollbackConfiguration": {"alarms": [{"alarmName": "a0"}]},
        "rollingUpdatePolicy": {
            "maximumBatchSize": {"type": "CAPACITY_PERCENT", "value": 25},
            "maximumExecutionTimeoutInSeconds": 4 * (600 + 1400),
            "waitIntervalInSeconds": 600,
        },
    }


@pytest.mark.parametrize("strategy", get_args(Strategy))
@pytest.mark.parametrize("wait_seconds", [ALARM_SECONDS, MAX_WAIT_SECONDS])
def test_the_limit_of_an_update_is_longer_than_its_waits_and_a_start(
    stack: Stack, strategy: Strategy, wait_seconds: int
) -> None:
    """A start as short as one can be, beside which the waits are most of the time."""
    start = MIN_PROVISION_SECONDS + 120
    config = policy_of(stack, strategy, 2, longest_start_seconds=start, wait_seconds=wait_seconds)
    (policy,) = (policy for name, policy in config.items() if name.endswith("UpdatePolicy"))
    routing = policy.get("trafficRoutingConfiguration", policy)
    intervals = {"ALL_AT_ONCE": 1, "CANARY": 1, "LINEAR": 2}.get(routing.get("type"), 2)
    waited = policy.get("terminationWaitInSeconds", 0) + intervals * routing["waitIntervalInSeconds"]
    assert policy["maximumExecutionTimeoutInSeconds"] >= waited + start


def test_sagemaker_counts_both_waits_of_a_second_fleet() -> None:
    api = botocore.session.get_session().get_service_model("sagemaker")
    policy = api.shape_for("BlueGreenUpdatePolicy")
    told = policy.members["MaximumExecutionTimeoutInSeconds"].documentation
    assert "larger than the total waiting time" in told
    assert "<code>TerminationWaitInSeconds</code> and <code>WaitIntervalInSeconds</code>" in told
    routing = policy.members["TrafficRoutingConfiguration"]
    assert isinstance(routing, StructureShape)
    assert "WaitIntervalInSeconds" in routing.required_members, "of all-at-once, which has no steps, too"


def test_an_update_that_would_outlast_sagemakers_limit_is_refused(stack: Stack) -> None:
    """Ten batches, each of which may look an hour for capacity: a shorter limit would take it back there."""
    with pytest.raises(ProblemsError) as caught:
        deployment_config(
            instance_count=10,
            longest_start_seconds=3600 + 960 + 660,
            rollback_alarms=[cloudwatch.Alarm.from_alarm_arn(stack, "A", "arn:aws:cloudwatch:x:1:alarm:a")],
            strategy="rolling",
            wait_seconds=300,
        )
    (problem,) = caught.value.problems
    assert "may take 55,200 s, 10 waits of 300 s and 10 starts of up to 5,220 s" in problem
    assert "SageMaker ends an update after 28,800 s" in problem


def test_the_bounds_of_times_are_those_of_sagemakers_api() -> None:
    api = botocore.session.get_session().get_service_model("sagemaker")

    def bounds(shape: str, member: str) -> tuple[int, int]:
        found = api.shape_for(shape).members[member].metadata
        return found["min"], found["max"]

    for policy in ("BlueGreenUpdatePolicy", "RollingUpdatePolicy"):
        allowed = bounds(policy, "MaximumExecutionTimeoutInSeconds")
        assert allowed == (MIN_EXECUTION_SECONDS, MAX_EXECUTION_SECONDS)
    assert bounds("TrafficRoutingConfig", "WaitIntervalInSeconds")[1] == MAX_WAIT_SECONDS
    timeout = bounds("ProductionVariant", "VariantInstanceProvisionTimeoutInSeconds")
    assert timeout == (MIN_PROVISION_SECONDS, MAX_PROVISION_SECONDS)
    told = api.shape_for("ProductionVariant").members["VariantInstanceProvisionTimeoutInSeconds"]
    assert "does not include the time for model download or container startup" in told.documentation


@pytest.mark.parametrize("strategy", ["canary", "linear", "rolling"])
def test_one_instance_cannot_be_moved_in_steps(stack: Stack, strategy: Strategy) -> None:
    with pytest.raises(ProblemsError, match="so it needs at least 2, and the variant may have 1"):
        policy_of(stack, strategy, instance_count=1)


@pytest.mark.parametrize("alarms", [0, 11])
def test_one_to_ten_alarms(stack: Stack, alarms: int) -> None:
    with pytest.raises(ProblemsError, match=f"holds {alarms} alarms, allowed are 1 to 10"):
        policy_of(stack, "all-at-once", alarms=alarms)


@given(
    strategy=st.sampled_from(get_args(Strategy)),
    instance_count=st.integers(2, 400),
    wait_seconds=st.integers(0, 4000),
    longest_start_seconds=st.integers(420, 10_800),
)
def test_what_is_not_refused_is_within_sagemakers_bounds(
    strategy: Strategy, instance_count: int, wait_seconds: int, longest_start_seconds: int
) -> None:
    if strategy != "all-at-once":
        percent = step_percent(strategy, instance_count)
        assert (5 if strategy == "rolling" else 10) <= percent <= 50
        assert percent * instance_count >= 100  # a step moves an instance at least
    times = {"longest_start_seconds": longest_start_seconds, "wait_seconds": wait_seconds}
    refused = [
        *update_problems(instance_count=instance_count, strategy=strategy, wait_seconds=wait_seconds),
        *execution_problems(strategy, instance_count, **times),
    ]
    limit = execution_seconds(strategy, instance_count, **times)
    batches = waits(strategy, instance_count) if strategy == "rolling" else 1
    assert limit >= waits(strategy, instance_count) * wait_seconds + batches * longest_start_seconds
    if not refused:
        assert 600 <= limit <= 28_800
        assert 300 <= wait_seconds <= 3600


def test_the_cdk_is_waited_for_as_long_as_an_update_there_and_back_may_take(
    templates: dict[str, Templates],
) -> None:
    prod = templates["prod"]["Endpoint"]
    update = 2 * 600 + 600 + 960 + 660
    assert deploy_seconds(prod) == 2 * 3600 + 2 * (update + 600)
    for name, stacks in templates.items():
        for template in stacks.values():
            endpoints = Template.from_json(template).find_resources(ENDPOINT).values()
            policies = [endpoint["Properties"].get("DeploymentConfig", {}) for endpoint in endpoints]
            limits = [
                policy["MaximumExecutionTimeoutInSeconds"]
                for config in policies
                for policy in config.values()
                if "MaximumExecutionTimeoutInSeconds" in policy
            ]
            assert deploy_seconds(template) >= 7200 + 2 * max(limits, default=0), name
            if not endpoints:
                assert deploy_seconds(template) == 7200
