"""What is there already is used and named in every policy; ends and budgets are as the file has them."""

import json
import re
from typing import Any

import pytest
from aws_cdk import Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from aws_cdk.assertions import Match, Template

from semif_constructs import AsyncInference, BatchFiles
from tests.infra.account_cases import ACCOUNT_CASES, BUCKET, FILES_BUCKET, ROLE_ARN
from tests.infra.matrix import KEY_ARN, TOPIC_ARN

Templates = dict[str, Any]
EXISTING = [name for name in ACCOUNT_CASES if name.startswith("existing-")]
BUCKET_TYPE, POLICY, SCHEDULE = "AWS::S3::Bucket", "AWS::IAM::Policy", "AWS::Scheduler::Schedule"
OTHER_KEY = KEY_ARN.replace("1111-2222", "9999-2222")


def of_type(template: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    return [item.get("Properties", {}) for item in template["Resources"].values() if item["Type"] == kind]


def statements(template: dict[str, Any]) -> list[dict[str, Any]]:
    return [one for policy in of_type(template, POLICY) for one in policy["PolicyDocument"]["Statement"]]


def listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def policy_names(template: dict[str, Any]) -> list[str]:
    """Of the inline policies on the role that was there already."""
    return [policy["PolicyName"] for policy in of_type(template, POLICY) if policy["Roles"] == ["hosting"]]


@pytest.mark.parametrize("name", EXISTING)
def test_the_bucket_and_the_role_that_are_there_are_used(matrix: dict[str, Templates], name: str) -> None:
    artifacts, endpoint = matrix[name]["Artifacts"], matrix[name]["Endpoint"]
    for template in (artifacts, endpoint):
        assert template["Parameters"]["BootstrapVersion"]["Default"] == "/cdk-bootstrap/platform/version"
        assert not of_type(template, BUCKET_TYPE)
        assert not of_type(template, "AWS::S3::BucketPolicy")
    assert artifacts["Outputs"]["BucketName"]["Value"] == BUCKET
    sources = [
        variable["Value"]
        for project in of_type(artifacts, "AWS::CodeBuild::Project")
        for variable in project["Environment"]["EnvironmentVariables"]
        if variable["Name"] == "MODEL_BUCKET"
    ]
    assert set(sources) == {BUCKET}
    (model,) = of_type(endpoint, "AWS::SageMaker::Model")
    assert model["ExecutionRoleArn"] == ROLE_ARN
    assert model["PrimaryContainer"]["ModelDataUrl"].startswith(f"s3://{BUCKET}/models/")
    named = {
        str(resource)
        for template in (artifacts, endpoint)
        for statement in statements(template)
        if "s3:" in str(statement["Action"])
        for resource in (
            [statement["Resource"]] if not isinstance(statement["Resource"], list) else statement["Resource"]
        )
    }
    assert all(BUCKET in place or FILES_BUCKET in place for place in named)


def test_stacks_with_the_same_role_take_no_policy_of_one_another(matrix: dict[str, Templates]) -> None:
    names = [name for case in EXISTING for name in policy_names(matrix[case]["Endpoint"])]
    assert len(names) > 8
    assert len(set(names)) == len(names)
    for case in EXISTING:
        template = matrix[case]["Endpoint"]
        assert all(name.startswith(f"Semif-{case}-Endpoint-") for name in policy_names(template))
        others = [policy["Roles"] for policy in of_type(template, POLICY) if policy["Roles"] != ["hosting"]]
        assert len(others) == (1 if case == "existing-cpu" else 0), "that of its end"


def test_the_endpoint_has_the_name_of_the_file_everywhere(matrix: dict[str, Templates]) -> None:
    name = "decisions-of-platform"
    (endpoint,) = of_type(matrix["existing-cpu"]["Endpoint"], "AWS::SageMaker::Endpoint")
    assert endpoint["EndpointName"] == name
    groups = [
        group.get("LogGroupName")
        for group in of_type(matrix["existing-cpu"]["Artifacts"], "AWS::Logs::LogGroup")
    ]
    assert f"/aws/sagemaker/Endpoints/{name}" in groups
    resources = json.dumps(matrix["existing-cpu"]["Endpoint"]["Resources"])
    assert not re.search("semif-existing-cpu(?!-example)", resources), "but for its image"


def test_requests_and_answers_go_to_the_bucket_that_is_there(matrix: dict[str, Templates]) -> None:
    (config,) = of_type(matrix["existing-async"]["Endpoint"], "AWS::SageMaker::EndpointConfig")
    output = config["AsyncInferenceConfig"]["OutputConfig"]
    assert output["S3OutputPath"] == f"s3://{FILES_BUCKET}/answers"
    for case in ("existing-async", "existing-batch"):
        template = matrix[case]["Endpoint"]
        assert template["Outputs"]["BucketName"]["Value"] == FILES_BUCKET
        writes = [one["Resource"] for one in statements(template) if "s3:PutObject" in one["Action"]]
        assert writes
        assert all(f":s3:::{FILES_BUCKET}/" in str(resource) for resource in writes)


def test_the_end_is_a_parameter_and_a_role_may_delete_this_endpoint_alone(
    matrix: dict[str, Templates],
) -> None:
    for case, scaled in (("existing-cpu", True), ("expiring-text", False)):
        template = matrix[case]["Endpoint"]
        assert "Default" not in template["Parameters"]["ExpiresAt"], "each deployment says it"
        assert template["Outputs"]["EndpointExpiresAt"]["Value"] == {"Ref": "ExpiresAt"}
        (schedule,) = of_type(template, SCHEDULE)
        assert schedule["ScheduleExpression"] == {"Fn::Join": ["", ["at(", {"Ref": "ExpiresAt"}, ")"]]}
        assert schedule["ScheduleExpressionTimezone"] == "UTC"
        (endpoint,) = of_type(template, "AWS::SageMaker::Endpoint")
        assert json.loads(schedule["Target"]["Input"]) == {"EndpointName": endpoint["EndpointName"]}
        assert "aws-sdk:sagemaker:deleteEndpoint" in str(schedule["Target"]["Arn"])
        deleting = [one for one in statements(template) if one["Action"] == "sagemaker:DeleteEndpoint"]
        (statement,) = deleting
        assert str(statement["Resource"]).count("*") == 0
        assert f":endpoint/{endpoint['EndpointName']}" in str(statement["Resource"])
        freeing = [one for one in statements(template) if "DeregisterScalableTarget" in str(one["Action"])]
        assert len(freeing) == scaled
        for one in freeing:
            namespace = {"application-autoscaling:service-namespace": "sagemaker"}
            assert one["Condition"] == {"StringEquals": namespace}


def test_a_budget_is_of_the_environments_tag_and_may_tell_the_topic(matrix: dict[str, Templates]) -> None:
    made, given = (Template.from_json(matrix[case]["Endpoint"]) for case in ("existing-cpu", "expiring-text"))
    (topic_id,) = made.find_resources("AWS::SNS::Topic")
    for template, name, usd, topic in (
        (made, "existing-cpu", 250.5, {"Ref": topic_id}),
        (given, "expiring-text", 100, TOPIC_ARN),
    ):
        (budget,) = template.find_resources("AWS::Budgets::Budget").values()
        properties = budget["Properties"]
        assert properties["Budget"] == {
            "BudgetLimit": {"Amount": usd, "Unit": "USD"},
            "BudgetType": "COST",
            "CostFilters": {"TagKeyValue": [f"user:semif:environment${name}"]},
            "TimeUnit": "MONTHLY",
        }
        told = properties["NotificationsWithSubscribers"]
        assert [
            (one["Notification"]["NotificationType"], one["Notification"]["Threshold"]) for one in told
        ] == [("ACTUAL", 80), ("FORECASTED", 100)]
        assert all(one["Subscribers"] == [{"Address": topic, "SubscriptionType": "SNS"}] for one in told)
    publishing = {
        "Action": "sns:Publish",
        "Principal": {"Service": "budgets.amazonaws.com"},
        "Condition": Match.object_like({"StringEquals": {"aws:SourceAccount": "111122223333"}}),
    }
    made.has_resource_properties(
        "AWS::SNS::TopicPolicy",
        {"PolicyDocument": {"Statement": Match.array_with([Match.object_like(publishing)])}},
    )
    assert not given.find_resources("AWS::SNS::TopicPolicy")


def test_a_queue_and_jobs_take_a_bucket_with_a_key_of_its_own(stack: Stack) -> None:
    ours, its = (
        kms.Key.from_key_arn(stack, arn[-4:] + str(at), arn) for at, arn in enumerate((KEY_ARN, OTHER_KEY))
    )
    bucket = s3.Bucket.from_bucket_attributes(stack, "Given", bucket_name=FILES_BUCKET, encryption_key=its)
    role = iam.Role(stack, "Role", assumed_by=iam.ServicePrincipal("sagemaker.amazonaws.com"))
    queue = AsyncInference(
        stack, "Queue", bucket=bucket, concurrent_invocations_per_instance=1, encryption_key=ours
    )
    queue.grant_serve(role)
    BatchFiles(stack, "Jobs", bucket=bucket).grant_transform(role)
    queue.grant_submit(iam.User(stack, "User"))
    template = Template.from_stack(stack)
    template.resource_count_is(BUCKET_TYPE, 0)
    using = [one["Resource"] for one in statements(template.to_json()) if "kms:Decrypt" in str(one["Action"])]
    assert sorted(map(str, using)) == sorted(
        map(str, ([KEY_ARN, OTHER_KEY], OTHER_KEY, [KEY_ARN, OTHER_KEY]))
    )
    assert not [one for one in statements(template.to_json()) if one["Action"] == "kms:CreateGrant"]
    reads = [one["Resource"] for one in statements(template.to_json()) if one["Action"] == "s3:GetObject"]
    assert all(f":s3:::{FILES_BUCKET}/" in str(resource) for resource in reads)
