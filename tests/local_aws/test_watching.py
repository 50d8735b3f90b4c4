"""Alarms, topics and scaling on the local AWS: there when a stack says so, gone with it, without effect."""

import json
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError

from tests.support.servers.local_aws import LocalAws
from tests.support.servers.local_stacks import deploy, destroy, reasons, resource, status_when_settled

TARGET_ID = {"Ref": "Target"}


def watching_template() -> dict[str, Any]:
    """What watches and scales an endpoint, in an order in which it cannot be made."""
    metric = {"Namespace": "AWS/SageMaker", "MetricName": "Invocations", "Dimensions": []}
    step = {"MetricIntervalLowerBound": "0", "ScalingAdjustment": "1"}
    resources = {
        "Share": resource(
            "AWS::CloudWatch::Alarm",
            {
                "AlarmName": "watched-share",
                "AlarmActions": [{"Ref": "Topic"}],
                "ComparisonOperator": "GreaterThanThreshold",
                "EvaluationPeriods": "5",
                "Metrics": [
                    {"Id": "share", "Expression": "100 * failed", "ReturnData": True},
                    {
                        "Id": "failed",
                        "MetricStat": {"Metric": metric, "Period": 60, "Stat": "Sum"},
                        "ReturnData": False,
                    },
                ],
                "Threshold": 1.5,
            },
        ),
        "Queue": resource(
            "AWS::CloudWatch::Alarm",
            {
                **metric,
                "AlarmActions": [{"Ref": "Policy"}],
                "ComparisonOperator": "GreaterThanThreshold",
                "EvaluationPeriods": 1,
                "Period": 60,
                "Statistic": "Maximum",
                "Threshold": 0,
            },
        ),
        "Policy": resource(
            "AWS::ApplicationAutoScaling::ScalingPolicy",
            {
                "PolicyName": "watched",
                "PolicyType": "StepScaling",
                "ScalingTargetId": TARGET_ID,
                "StepScalingPolicyConfiguration": {
                    "AdjustmentType": "ChangeInCapacity",
                    "StepAdjustments": [step],
                },
            },
        ),
        "Target": resource(
            "AWS::ApplicationAutoScaling::ScalableTarget",
            {
                "MaxCapacity": 4,
                "MinCapacity": 0,
                "ResourceId": "endpoint/watched/variant/AllTraffic",
                "ScalableDimension": "sagemaker:variant:DesiredInstanceCount",
                "ServiceNamespace": "sagemaker",
            },
        ),
        "TopicPolicy": resource(
            "AWS::SNS::TopicPolicy",
            {
                "PolicyDocument": {"Version": "2012-10-17", "Statement": []},
                "Topics": [{"Ref": "Topic"}],
            },
        ),
        "Topic": resource("AWS::SNS::Topic", {}),
        "Budget": resource(
            "AWS::Budgets::Budget",
            {
                "Budget": {
                    "BudgetLimit": {"Amount": 250, "Unit": "USD"},
                    "BudgetType": "COST",
                    "CostFilters": {"TagKeyValue": ["user:semif:environment$watched"]},
                    "TimeUnit": "MONTHLY",
                }
            },
        ),
        "End": resource(
            "AWS::Scheduler::Schedule",
            {
                "FlexibleTimeWindow": {"Mode": "OFF"},
                "ScheduleExpression": "at(2126-11-30T08:00:00)",
                "Target": {
                    "Arn": "arn:aws:scheduler:::aws-sdk:sagemaker:deleteEndpoint",
                    "Input": '{"EndpointName": "watched"}',
                    "RoleArn": "arn:aws:iam::000000000000:role/end",
                },
            },
        ),
        "Dashboard": resource(
            "AWS::CloudWatch::Dashboard", {"DashboardName": "watched", "DashboardBody": '{"widgets": []}'}
        ),
    }
    outputs = {"Arn": {"Value": {"Fn::GetAtt": ["Share", "Arn"]}}, "Topic": {"Value": {"Ref": "Topic"}}}
    return {"Resources": resources, "Outputs": outputs}


def client(aws: LocalAws, service: str) -> Any:
    create: Any = boto3.Session("local", "local", region_name=aws.region).client
    return create(service, endpoint_url=aws.endpoint_url)


def test_what_watches_an_endpoint_is_there_and_goes_with_its_stack(local_aws: LocalAws) -> None:
    deploy(local_aws, "watching", watching_template())
    (stack,) = local_aws.cloudformation.describe_stacks(StackName="watching")["Stacks"]
    made = {output["OutputKey"]: output["OutputValue"] for output in stack["Outputs"]}
    cloudwatch, scaling = client(local_aws, "cloudwatch"), client(local_aws, "application-autoscaling")
    (share,) = cloudwatch.describe_alarms(AlarmNames=["watched-share"])["MetricAlarms"]
    assert share["AlarmArn"] == made["Arn"]
    assert share["AlarmActions"] == [made["Topic"]]
    assert (share["EvaluationPeriods"], share["Threshold"]) == (5, 1.5)
    assert {query["Id"] for query in share["Metrics"]} == {"failed", "share"}
    assert share["StateValue"] in {"OK", "INSUFFICIENT_DATA"}
    assert [board["DashboardName"] for board in cloudwatch.list_dashboards()["DashboardEntries"]] == [
        "watched"
    ]
    (target,) = scaling.describe_scalable_targets(ServiceNamespace="sagemaker")["ScalableTargets"]
    assert (target["MinCapacity"], target["MaxCapacity"]) == (0, 4)
    (policy,) = scaling.describe_scaling_policies(ServiceNamespace="sagemaker")["ScalingPolicies"]
    (queue,) = [alarm for alarm in cloudwatch.describe_alarms()["MetricAlarms"] if alarm != share]
    assert queue["AlarmActions"] == [policy["PolicyARN"]]
    attributes = client(local_aws, "sns").get_topic_attributes(TopicArn=made["Topic"])["Attributes"]
    assert json.loads(attributes["Policy"])["Statement"] == []

    (budget,) = client(local_aws, "budgets").describe_budgets(AccountId="000000000000")["Budgets"]
    assert budget["BudgetLimit"]["Amount"] == "250"
    scheduler = client(local_aws, "scheduler")
    (end,) = scheduler.list_schedules()["Schedules"]

    changed = watching_template()
    changed["Resources"]["End"]["Properties"]["ScheduleExpression"] = "at(2126-12-01T08:00:00)"
    changed["Resources"]["Share"]["Properties"]["Threshold"] = 2
    changed["Resources"]["Target"]["Properties"]["MaxCapacity"] = 6
    local_aws.cloudformation.update_stack(StackName="watching", TemplateBody=json.dumps(changed))
    assert status_when_settled(local_aws, "watching") == "UPDATE_COMPLETE"
    (share,) = cloudwatch.describe_alarms(AlarmNames=["watched-share"])["MetricAlarms"]
    assert share["Threshold"] == 2
    (target,) = scaling.describe_scalable_targets(ServiceNamespace="sagemaker")["ScalableTargets"]
    assert target["MaxCapacity"] == 6
    assert scheduler.get_schedule(Name=end["Name"])["ScheduleExpression"] == "at(2126-12-01T08:00:00)"

    changed["Resources"]["Share"]["Properties"]["Threshold"] = 3
    changed["Resources"]["Queue"]["Properties"]["ComparisonOperator"] = "Differs"
    local_aws.cloudformation.update_stack(StackName="watching", TemplateBody=json.dumps(changed))
    assert status_when_settled(local_aws, "watching") == "UPDATE_ROLLBACK_COMPLETE"
    (share,) = cloudwatch.describe_alarms(AlarmNames=["watched-share"])["MetricAlarms"]
    assert share["Threshold"] == 2

    destroy(local_aws, "watching")
    assert not cloudwatch.describe_alarms()["MetricAlarms"]
    assert not scheduler.list_schedules()["Schedules"]
    assert not client(local_aws, "budgets").describe_budgets(AccountId="000000000000")["Budgets"]
    assert not scaling.describe_scalable_targets(ServiceNamespace="sagemaker")["ScalableTargets"]
    with pytest.raises(ClientError, match="NotFound"):
        client(local_aws, "sns").get_topic_attributes(TopicArn=made["Topic"])


def test_what_gets_another_name_or_place_is_replaced(local_aws: LocalAws) -> None:
    """By their names, and what scales by what it scales: properties whose change is a "Replacement"."""
    template = watching_template()
    template["Resources"]["End"]["Properties"]["Name"] = "ends-first"
    deploy(local_aws, "renamed", template)
    changed = watching_template()
    changed["Resources"]["Share"]["Properties"]["AlarmName"] = "renamed-share"
    changed["Resources"]["End"]["Properties"]["Name"] = "ends-second"
    changed["Resources"]["Target"]["Properties"]["ResourceId"] = "endpoint/renamed/variant/AllTraffic"
    refused = json.loads(json.dumps(changed))
    refused["Resources"]["Queue"]["Properties"]["ComparisonOperator"] = "Differs"

    cloudwatch, scaling = client(local_aws, "cloudwatch"), client(local_aws, "application-autoscaling")

    def names() -> list[set[str]]:
        alarms = {one["AlarmName"] for one in cloudwatch.describe_alarms()["MetricAlarms"]}
        targets = scaling.describe_scalable_targets(ServiceNamespace="sagemaker")["ScalableTargets"]
        policies = scaling.describe_scaling_policies(ServiceNamespace="sagemaker")["ScalingPolicies"]
        return [
            {name for name in alarms if name.endswith("-share")},
            {one["Name"] for one in client(local_aws, "scheduler").list_schedules()["Schedules"]},
            {one["ResourceId"] for one in targets},
            {one["ResourceId"] for one in policies},
        ]

    before = names()
    watched = "endpoint/watched/variant/AllTraffic"
    assert before == [{"watched-share"}, {"ends-first"}, {watched}, {watched}]
    local_aws.cloudformation.update_stack(StackName="renamed", TemplateBody=json.dumps(refused))
    assert status_when_settled(local_aws, "renamed") == "UPDATE_ROLLBACK_COMPLETE"
    assert names() == before
    local_aws.cloudformation.update_stack(StackName="renamed", TemplateBody=json.dumps(changed))
    assert status_when_settled(local_aws, "renamed") == "UPDATE_COMPLETE"
    renamed = "endpoint/renamed/variant/AllTraffic"
    assert names() == [{"renamed-share"}, {"ends-second"}, {renamed}, {renamed}]
    (stack,) = local_aws.cloudformation.describe_stacks(StackName="renamed")["Stacks"]
    made = {output["OutputKey"]: output["OutputValue"] for output in stack["Outputs"]}
    assert made["Arn"].endswith(":alarm:renamed-share")
    destroy(local_aws, "renamed")
    assert names() == [set()] * 4


def test_an_alarm_that_aws_would_refuse_fails(local_aws: LocalAws) -> None:
    template = watching_template()
    template["Resources"] = {"Share": template["Resources"]["Queue"]}
    del template["Outputs"]
    properties = template["Resources"]["Share"]["Properties"]
    del properties["AlarmActions"]
    properties["ComparisonOperator"] = "Differs"
    local_aws.cloudformation.create_stack(StackName="refused", TemplateBody=json.dumps(template))
    assert status_when_settled(local_aws, "refused") == "ROLLBACK_COMPLETE"
    assert "'Differs' is not one of" in reasons(local_aws, "refused")["Share"]
    destroy(local_aws, "refused")


def test_a_change_set_keeps_the_parameters_that_it_does_not_give(local_aws: LocalAws) -> None:
    """One that is looked up in SSM, as in all of the CDK's templates, keeps its name."""
    client(local_aws, "ssm").put_parameter(Name="/bootstrap/version", Value="23", Type="String")
    schedule = watching_template()["Resources"]["End"]
    schedule["Properties"]["ScheduleExpression"] = {"Fn::Join": ["", ["at(", {"Ref": "At"}, ")"]]}
    looked_up = {"Type": "AWS::SSM::Parameter::Value<String>", "Default": "/bootstrap/version"}
    template = {
        "Parameters": {"At": {"Type": "String"}, "Version": looked_up},
        "Resources": {"End": schedule},
        "Outputs": {"At": {"Value": {"Ref": "At"}}},
    }
    kept = [{"ParameterKey": "Version", "UsePreviousValue": True}]
    cloudformation, names = local_aws.cloudformation, {"StackName": "ending", "ChangeSetName": "end"}
    for kind, at, rest in (("CREATE", "2126-11-30T08:00:00", []), ("UPDATE", "2126-12-01T08:00:00", kept)):
        cloudformation.create_change_set(
            **names,
            ChangeSetType=kind,
            Parameters=[{"ParameterKey": "At", "ParameterValue": at}, *rest],
            TemplateBody=json.dumps(template),
        )
        cloudformation.execute_change_set(**names)
        assert status_when_settled(local_aws, "ending") == f"{kind}_COMPLETE"
        (stack,) = cloudformation.describe_stacks(StackName="ending")["Stacks"]
        assert stack["Outputs"][0]["OutputValue"] == at
        (end,) = client(local_aws, "scheduler").list_schedules()["Schedules"]
        expression = client(local_aws, "scheduler").get_schedule(Name=end["Name"])["ScheduleExpression"]
        assert expression == f"at({at})"
        with pytest.raises(ClientError, match=r"\(ChangeSetNotFound\)"):
            cloudformation.describe_change_set(**names)
    destroy(local_aws, "ending")
