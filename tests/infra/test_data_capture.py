"""Data capture: what the configuration says, where it lies and for how long, and who may write there."""

from pathlib import Path
from typing import Any

import pytest
from aws_cdk import App, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3 as s3
from aws_cdk.assertions import Template

from semif.errors import ProblemsError
from semif_constructs import AsyncInference, DataCapture, ImageRef, ModelEndpoint, ServedModel
from tests.infra.matrix import KEY_ARN, cases

Templates = dict[str, Any]
CASES = {name: case for name, case in cases().items() if case["mode"] == "realtime"}
BUCKET, CONFIG = "AWS::S3::Bucket", "AWS::SageMaker::EndpointConfig"


def test_both_ways_are_in_the_matrix() -> None:
    captured = [case for case in CASES.values() if case["captured"]]
    assert {case["encrypted"] for case in captured} == {True, False}
    assert {case["retained"] for case in captured} == {True, False}


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case["captured"]])
def test_a_share_is_captured_into_a_bucket_that_forgets(matrix: dict[str, Templates], name: str) -> None:
    template = Template.from_json(matrix[name]["Endpoint"])
    ((bucket_id, bucket),) = template.find_resources(BUCKET).items()
    (config,) = template.find_resources(CONFIG).values()
    key = {"KmsKeyId": KEY_ARN} if CASES[name]["encrypted"] else {}
    assert config["Properties"]["DataCaptureConfig"] == {
        "CaptureContentTypeHeader": {"JsonContentTypes": ["application/json"]},
        "CaptureOptions": [{"CaptureMode": "Input"}, {"CaptureMode": "Output"}],
        "DestinationS3Uri": {"Fn::Join": ["", ["s3://", {"Ref": bucket_id}, "/captured"]]},
        "EnableCapture": True,
        "InitialSamplingPercentage": 5,
        **key,
    }
    (rule,) = bucket["Properties"]["LifecycleConfiguration"]["Rules"]
    assert (rule["ExpirationInDays"], rule["Status"]) == (7, "Enabled")
    assert "VersioningConfiguration" not in bucket["Properties"], "an old version would not be forgotten"
    template.has_output("BucketName", {"Value": {"Ref": bucket_id}})  # what `semif destroy` empties
    (policy_id,) = [one for one in config["DependsOn"] if "DataCapture" in one]
    policy = template.find_resources("AWS::IAM::Policy")[policy_id]["Properties"]
    writes, *uses = policy["PolicyDocument"]["Statement"]
    assert writes["Action"] == ["s3:AbortMultipartUpload", "s3:PutObject"]
    assert writes["Resource"] == {"Fn::Join": ["", [{"Fn::GetAtt": [bucket_id, "Arn"]}, "/captured/*"]]}
    assert [use["Resource"] for use in uses] == ([KEY_ARN] if CASES[name]["encrypted"] else [])


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if not case["captured"]])
def test_nothing_is_captured_unless_the_file_says_so(matrix: dict[str, Templates], name: str) -> None:
    (config,) = Template.from_json(matrix[name]["Endpoint"]).find_resources(CONFIG).values()
    assert "DataCaptureConfig" not in config["Properties"]


def test_a_queue_is_not_captured(stack: Stack) -> None:
    image = ImageRef.parse(f"111122223333.dkr.ecr.eu-central-1.amazonaws.com/x@sha256:{'b' * 64}")
    bucket = s3.Bucket.from_bucket_name(stack, "Named", "bucket")
    model = ServedModel(
        stack, "Model", environment={}, image=image, model_bucket=bucket, model_key="models/x/model.tar.gz"
    )
    with pytest.raises(ProblemsError, match="data_capture is for realtime endpoints"):
        ModelEndpoint(
            stack,
            "Endpoint",
            async_inference=AsyncInference(stack, "Queue", concurrent_invocations_per_instance=1),
            container_startup_health_check_timeout_seconds=60,
            data_capture=DataCapture(stack, "Capture", sampling_percent=1),
            instance_type="ml.c6i.large",
            model=model,
            model_data_download_timeout_seconds=60,
        )


def test_two_stacks_with_one_role_that_exists_write_policies_of_their_own(tmp_path: Path) -> None:
    """An inline policy's name is its role's alone: of two with one name the later would replace the other."""
    app = App(outdir=str(tmp_path))
    stacks = [Stack(app, name) for name in ("one", "two")]
    for stack in stacks:
        role = iam.Role.from_role_arn(stack, "Role", "arn:aws:iam::111122223333:role/serving")
        DataCapture(stack, "Capture", sampling_percent=1).grant_capture(role)
    templates = [Template.from_stack(stack).find_resources("AWS::IAM::Policy") for stack in stacks]
    names = {policy["Properties"]["PolicyName"] for found in templates for policy in found.values()}
    assert len(names) == 2
