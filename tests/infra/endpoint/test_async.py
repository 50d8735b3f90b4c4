"""Asynchronous endpoints: the queue's configuration, its bucket and topics, and who may do what with them."""

import json
from typing import Any

import pytest
from aws_cdk import Stack
from aws_cdk import aws_iam as iam
from aws_cdk.assertions import Match, Template

from semif_constructs.hosting.async_inference import AsyncInference
from tests.infra.matrix import KEY_ARN, TOPIC_ARN, cases

Templates = dict[str, Any]
CASES = {name: case for name, case in cases().items() if case["mode"] == "async"}
BUCKET, TOPIC, CONFIG = "AWS::S3::Bucket", "AWS::SNS::Topic", "AWS::SageMaker::EndpointConfig"
every_case = pytest.mark.parametrize("name", CASES)


def in_bucket(bucket_id: str, prefix: str) -> dict[str, Any]:
    return {"Fn::Join": ["", ["s3://", {"Ref": bucket_id}, f"/{prefix}"]]}


def objects(bucket_id: str, prefix: str) -> dict[str, Any]:
    return {"Fn::Join": ["", [{"Fn::GetAtt": [bucket_id, "Arn"]}, f"/{prefix}/*"]]}


@every_case
def test_the_endpoint_answers_by_a_queue(matrix: dict[str, Templates], name: str) -> None:
    template, case = Template.from_json(matrix[name]["Endpoint"]), CASES[name]
    (bucket_id,) = template.find_resources(BUCKET)
    (config,) = template.find_resources(CONFIG).values()
    asked = config["Properties"]["AsyncInferenceConfig"]
    assert asked["ClientConfig"] == {
        "MaxConcurrentInvocationsPerInstance": 2 if case["path"] == "text" else 4
    }
    output = asked["OutputConfig"]
    assert output["S3OutputPath"] == in_bucket(bucket_id, "answers")
    assert output["S3FailurePath"] == in_bucket(bucket_id, "failures")
    assert output.get("KmsKeyId") == (KEY_ARN if case["encrypted"] else None)
    told = output["NotificationConfig"]
    made = template.find_resources(TOPIC)
    assert told["ErrorTopic"]["Ref"] in made
    if case["operation"] == "zero":
        assert told["SuccessTopic"]["Ref"] in made
        assert len(made) == 2
    else:
        assert told["SuccessTopic"] == TOPIC_ARN
        assert len(made) == 2, "one is the alarms'"
    (variant,) = config["Properties"]["ProductionVariants"]
    assert "RoutingConfig" not in variant
    (policy_id,) = [key for key in config["DependsOn"] if "AsyncInference" in key]
    assert template.find_resources("AWS::IAM::Policy")[policy_id]


@every_case
def test_the_models_role_reads_requests_and_writes_answers(matrix: dict[str, Templates], name: str) -> None:
    template = Template.from_json(matrix[name]["Endpoint"])
    (bucket_id,) = template.find_resources(BUCKET)
    (role_id,) = template.find_resources("AWS::IAM::Role")
    (policy,) = [
        item["Properties"]
        for key, item in template.find_resources("AWS::IAM::Policy").items()
        if "AsyncInference" in key
    ]
    assert policy["Roles"] == [{"Ref": role_id}]
    reads, writes, tells, *key = policy["PolicyDocument"]["Statement"]
    assert (reads["Action"], reads["Resource"]) == ("s3:GetObject", objects(bucket_id, "requests"))
    assert writes["Action"] == ["s3:AbortMultipartUpload", "s3:PutObject"]
    assert writes["Resource"] == [objects(bucket_id, "answers"), objects(bucket_id, "failures")]
    notified = matrix[name]["Endpoint"]["Resources"]
    (config,) = [item for item in notified.values() if item["Type"] == CONFIG]
    topics = config["Properties"]["AsyncInferenceConfig"]["OutputConfig"]["NotificationConfig"]
    assert tells["Action"] == "sns:Publish"
    assert sorted(map(json.dumps, tells["Resource"])) == sorted(map(json.dumps, topics.values()))
    assert [statement["Resource"] for statement in key] == ([KEY_ARN] if CASES[name]["encrypted"] else [])


@every_case
def test_requests_and_answers_are_private_and_forgotten(matrix: dict[str, Templates], name: str) -> None:
    template = Template.from_json(matrix[name]["Endpoint"])
    template.has_resource_properties(
        BUCKET,
        {
            "LifecycleConfiguration": {
                "Rules": [
                    {
                        "AbortIncompleteMultipartUpload": {"DaysAfterInitiation": 2},
                        "ExpirationInDays": 30 if CASES[name]["operation"] == "zero" else 3,
                        "Status": "Enabled",
                    }
                ]
            },
            "PublicAccessBlockConfiguration": dict.fromkeys(
                ("BlockPublicAcls", "BlockPublicPolicy", "IgnorePublicAcls", "RestrictPublicBuckets"), True
            ),
            "VersioningConfiguration": Match.absent(),
        },
    )
    (bucket_id,) = template.find_resources(BUCKET)
    template.has_output("BucketName", {"Value": {"Ref": bucket_id}})  # what `semif destroy` empties
    for policy in template.find_resources("AWS::SNS::TopicPolicy").values():
        denials = [
            statement["Condition"]
            for statement in policy["Properties"]["PolicyDocument"]["Statement"]
            if statement["Effect"] == "Deny"
        ]
        assert denials == [{"Bool": {"aws:SecureTransport": "false"}}]


def test_it_scales_by_its_queue_down_to_nothing(matrix: dict[str, Templates]) -> None:
    template = Template.from_json(matrix["async-cpu"]["Endpoint"])
    template.has_resource_properties(
        "AWS::ApplicationAutoScaling::ScalableTarget", {"MinCapacity": 0, "MaxCapacity": 5}
    )
    policies = template.find_resources("AWS::ApplicationAutoScaling::ScalingPolicy").values()
    assert {item["Properties"]["PolicyType"] for item in policies} == {"StepScaling"}
    template.has_resource_properties(
        "AWS::CloudWatch::Alarm",
        {"AlarmName": "semif-async-cpu-no-healthy-instance", "MetricName": "HasBacklogWithoutCapacity"},
    )
    idle = {"AlarmName": "semif-async-cpu-idle", "DatapointsToAlarm": 15, "EvaluationPeriods": 15}
    template.has_resource_properties("AWS::CloudWatch::Alarm", idle)
    template.has_resource_properties(
        "AWS::CloudWatch::Alarm", {"AlarmName": "semif-async-cpu-backlog-age", "Threshold": 900}
    )
    template.has_resource_properties(
        "AWS::SageMaker::Model",
        {"PrimaryContainer": {"Environment": Match.object_like({"SEMIF_DEADLINE_SECONDS": "895.0"})}},
    )


def test_an_update_can_go_step_by_step(matrix: dict[str, Templates]) -> None:
    template = Template.from_json(matrix["async-cuda"]["Endpoint"])
    template.has_resource_properties(
        "AWS::SageMaker::Endpoint",
        {
            "DeploymentConfig": {
                "BlueGreenUpdatePolicy": {
                    "TrafficRoutingConfiguration": Match.object_like({"Type": "CANARY"})
                }
            }
        },
    )


def test_who_submits_may_put_fetch_and_look_and_no_more(stack: Stack) -> None:
    inference = AsyncInference(stack, "Async", concurrent_invocations_per_instance=4)
    user = iam.User(stack, "User")
    inference.grant_submit(user)
    template = Template.from_stack(stack)
    (bucket_id,) = template.find_resources(BUCKET)
    (policy,) = template.find_resources("AWS::IAM::Policy").values()
    puts, fetches, looks = policy["Properties"]["PolicyDocument"]["Statement"]
    assert (puts["Action"], puts["Resource"]) == ("s3:PutObject", objects(bucket_id, "requests"))
    assert (fetches["Action"], fetches["Resource"]) == (
        "s3:GetObject",
        [objects(bucket_id, "answers"), objects(bucket_id, "failures")],
    )
    assert (looks["Action"], looks["Resource"]) == ("s3:ListBucket", {"Fn::GetAtt": [bucket_id, "Arn"]})
    assert looks["Condition"] == {"StringLike": {"s3:prefix": ["requests/*", "answers/*", "failures/*"]}}
