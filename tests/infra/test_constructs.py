"""The constructs as other people's apps use them: ids that stay, who is let in, what is imported."""

from pathlib import Path
from typing import Any

import pytest
from aws_cdk import App, CfnParameter, Duration, Stack
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as cloudwatch_actions
from aws_cdk import aws_ecr as ecr
from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3 as s3
from aws_cdk.assertions import Match, Template
from constructs import Construct

from semif.errors import ProblemsError
from semif.images.image_ref import ImageRef
from semif_constructs import (
    AdapterRepository,
    AlarmTopic,
    AsyncInference,
    BatchFiles,
    CapacityAlarms,
    EndpointBase,
    EndpointLog,
    EndpointMetrics,
    ModelBucket,
    ModelEndpoint,
    RequestAlarms,
    ServedModel,
    VariantScaling,
)

IMAGE = ImageRef.parse(f"111122223333.dkr.ecr.eu-central-1.amazonaws.com/x@sha256:{'b' * 64}")


def model_of(stack: Stack, **given: Any) -> ServedModel:
    arguments = {
        "environment": {},
        "image": IMAGE,
        "model_key": "models/x/model.tar.gz",
    }
    if "model_bucket" not in given:
        arguments["model_bucket"] = s3.Bucket.from_bucket_name(stack, "Named", "bucket")
    return ServedModel(stack, "Model", **{**arguments, **given})


def policies_of(stack: Stack) -> set[str]:
    return set(Template.from_stack(stack).find_resources("AWS::IAM::Policy"))


@pytest.mark.parametrize("place", ["made here", "made in another stack", "a parameter", "a key made late"])
def test_a_second_synthesis_gives_the_same_ids(tmp_path: Path, place: str) -> None:
    found = []
    for tokens_before in (0, 7):
        app = App(analytics_reporting=False, outdir=str(tmp_path / f"cdk-{tokens_before}"))
        stack, other = Stack(app, "Test"), Stack(app, "Other")
        for number in range(
            tokens_before
        ):  # a token's text carries its number, which depends on all before it
            CfnParameter(other, f"Before{number}").value_as_string  # noqa: B018
        given: dict[str, Any] = {"model_bucket": s3.Bucket(stack, "Bucket")}
        if place == "made in another stack":
            given = {"model_bucket": s3.Bucket(other, "Bucket")}
        elif place == "a parameter":
            name = CfnParameter(stack, "Name").value_as_string
            given = {"model_bucket": s3.Bucket.from_bucket_name(stack, "Given", name)}
        elif place == "a key made late":
            given = {"model_key": CfnParameter(stack, "Key").value_as_string}
        model_of(stack, **given)
        found.append(policies_of(stack))
    assert found[0] == found[1]


def test_a_literal_place_has_the_id_that_it_always_had(stack: Stack) -> None:
    model_of(stack)
    assert [key for key in policies_of(stack) if "Archive" in key] == ["ModelArchiveb593484804F89F7C"]


def endpoint_of(stack: Stack, **given: Any) -> ModelEndpoint:
    return ModelEndpoint(
        stack,
        "Endpoint",
        container_startup_health_check_timeout_seconds=600,
        instance_type="ml.c7i.large",
        model=model_of(stack),
        model_data_download_timeout_seconds=600,
        **given,
    )


@pytest.mark.parametrize(
    ("asynchronous", "actions"),
    [
        (False, ["sagemaker:InvokeEndpoint", "sagemaker:InvokeEndpointWithResponseStream"]),
        (True, "sagemaker:InvokeEndpointAsync"),
    ],
)
def test_an_endpoint_that_is_there_is_asked_and_watched(
    stack: Stack, asynchronous: bool, actions: list[str] | str
) -> None:
    found: EndpointBase = ModelEndpoint.from_endpoint_name(
        stack, "Found", "semif-prod", asynchronous=asynchronous
    )
    grant = found.grant_invoke(iam.Role.from_role_name(stack, "Application", "application"))
    assert grant.success
    metric = found.metric_server_errors(period=Duration.minutes(1), label="faults", region="eu-west-1")
    metric.create_alarm(stack, "Faults", evaluation_periods=1, threshold=1)
    CapacityAlarms(stack, "Capacity", adapter=True, endpoint=found, longest_start_seconds=600)
    template = Template.from_stack(stack)
    (policy,) = template.find_resources("AWS::IAM::Policy").values()
    (statement,) = policy["Properties"]["PolicyDocument"]["Statement"]
    assert statement["Action"] == actions
    assert str(statement["Resource"]).endswith(":endpoint/semif-prod']]}")
    template.has_resource_properties(
        "AWS::CloudWatch::Alarm", {"AlarmName": "semif-prod-no-healthy-instance"}
    )
    template.resource_count_is("AWS::SageMaker::Endpoint", 0)


def test_metrics_take_the_cdks_own_options(stack: Stack) -> None:
    found = ModelEndpoint.from_endpoint_name(stack, "Found", "semif-prod")
    assert found.metric("Invocations").statistic == "Average"
    assert found.metric_invocations().statistic == "Sum"
    assert found.metric_model_latency(statistic="p99").statistic == "p99"
    options = found.metric_client_errors(
        account="111122223333", color="#ff0000", period=Duration.minutes(1), unit=cloudwatch.Unit.COUNT
    )
    assert (options.account, options.color, options.unit) == (
        "111122223333",
        "#ff0000",
        cloudwatch.Unit.COUNT,
    )
    assert options.period.to_seconds() == 60
    assert options.statistic == "Sum"


def test_an_endpoint_without_a_name_has_one_that_stays(stack: Stack) -> None:
    endpoint = endpoint_of(stack)
    template = Template.from_stack(stack)
    template.has_resource_properties("AWS::SageMaker::Endpoint", {"EndpointName": "Test-Endpoint-0FBD4E12"})
    assert "/aws/sagemaker/Endpoints/Test-Endpoint-0FBD4E12" in str(
        template.find_resources("AWS::IAM::Policy")
    )
    assert endpoint.metric_invocations().dimensions == {
        "EndpointName": "Test-Endpoint-0FBD4E12",
        "VariantName": "AllTraffic",
    }


def test_a_repository_of_the_same_app_holds_the_image(stack: Stack) -> None:
    repository = ecr.Repository(stack, "Repository")
    digest = f"sha256:{'c' * 64}"
    model_of(stack, image=None, repository=repository, image_digest=digest)
    template = Template.from_stack(stack)
    (repository_id,) = template.find_resources("AWS::ECR::Repository")
    (model,) = template.find_resources("AWS::SageMaker::Model").values()
    image = model["Properties"]["PrimaryContainer"]["Image"]
    assert str(image).endswith(f"{{'Ref': '{repository_id}'}}, '@{digest}']]}}")
    pulls = {
        "Action": Match.array_with(["ecr:BatchGetImage"]),
        "Resource": {"Fn::GetAtt": [repository_id, "Arn"]},
    }
    template.has_resource_properties(
        "AWS::IAM::Policy", {"PolicyDocument": {"Statement": Match.array_with([Match.object_like(pulls)])}}
    )


def test_a_model_says_all_problems_of_its_arguments(stack: Stack) -> None:
    with pytest.raises(ProblemsError) as caught:
        model_of(stack, image_digest="latest", model_key=None, security_groups=["sg"])
    image, digest, data, network = caught.value.problems
    assert image.startswith("the image is either image, or repository and image_digest")
    assert digest.startswith("image_digest = 'latest': a digest is sha256: and 64")
    assert data.startswith("a container has either model data")
    assert network.startswith("security_groups alone place no network interface")


@pytest.mark.parametrize(
    ("pool", "fallback", "problem"),
    [
        (["ml.g6.xlarge", "ml.c6i.large"], False, "ml.c6i.large at the end of the pool has no GPU"),
        (["ml.g6.xlarge", "ml.g5.xlarge"], True, "a Model for CPU types goes with a pool of GPU types"),
        (["ml.g6.xlarge", "ml.c6i.large"], True, "fallback_model has a role of its own; give it role=model"),
    ],
)
def test_the_cpus_that_end_a_pool_need_a_model_of_their_own(
    stack: Stack, pool: list[str], fallback: bool, problem: str
) -> None:
    model = model_of(stack)
    other = ServedModel(
        stack,
        "Other",
        environment={},
        image=IMAGE,
        model_bucket=s3.Bucket.from_bucket_name(stack, "Bucket", "bucket"),
        model_key="models/x/model.tar.gz",
        role=None if "role" in problem else model.role,
    )
    with pytest.raises(ProblemsError, match=problem):
        ModelEndpoint(
            stack,
            "Endpoint",
            container_startup_health_check_timeout_seconds=600,
            fallback_model=other if fallback else None,
            inference_ami_version="al2023-ami-sagemaker-inference-gpu-4-1",
            instance_pool=pool,
            model=model,
            model_data_download_timeout_seconds=600,
        )


def test_any_action_of_the_cdk_can_be_told(stack: Stack) -> None:
    incident = cloudwatch_actions.SsmAction(cloudwatch_actions.OpsItemSeverity.HIGH)
    topic = AlarmTopic(stack, "Topic", endpoint_name="semif-test").topic
    RequestAlarms(
        stack,
        "Alarms",
        alarm_actions=[incident, cloudwatch_actions.SnsAction(topic)],
        error_percent=1,
        metrics=EndpointMetrics("semif-test"),
        model_p95_seconds=1,
        ok_actions=[cloudwatch_actions.SnsAction(topic)],
        overhead_seconds=1,
    )
    alarms = Template.from_stack(stack).find_resources("AWS::CloudWatch::Alarm").values()
    assert len(alarms) == 4
    for alarm in alarms:
        opened, told = alarm["Properties"]["AlarmActions"]
        assert ":opsitem:2" in str(opened)
        assert alarm["Properties"]["OKActions"] == [told]


def test_what_a_construct_is_made_of_can_be_reached(stack: Stack) -> None:
    endpoint = endpoint_of(stack)
    made: dict[str, Construct] = {
        "AWS::SageMaker::Endpoint": endpoint,
        "AWS::SageMaker::Model": model_of(Stack(stack, "Inner")),
        "AWS::ECR::Repository": AdapterRepository(stack, "Images"),
        "AWS::Logs::LogGroup": EndpointLog(stack, "Log", endpoint_name="x"),
        "AWS::SNS::Topic": AlarmTopic(stack, "Topic", endpoint_name="x"),
        "AWS::ApplicationAutoScaling::ScalableTarget": VariantScaling(
            stack, "Scaling", endpoint=endpoint, max_instance_count=2, min_instance_count=1
        ),
    }
    buckets = [
        ModelBucket(stack, "Models"),
        BatchFiles(stack, "Batch"),
        AsyncInference(stack, "Async", concurrent_invocations_per_instance=1),
    ]
    for kind, construct in [*made.items(), *(("AWS::S3::Bucket", bucket) for bucket in buckets)]:
        child = construct.node.default_child
        assert child is not None
        assert child.cfn_resource_type == kind  # type: ignore[attr-defined]  # a resource of CloudFormation
