"""Stacks and endpoints as the commands see them."""

import json
from collections.abc import Iterator

import pytest
from botocore.stub import Stubber
from moto import mock_aws

from semif.aws.clients import Aws
from semif.aws.stacks import (
    delete_stack,
    empty_bucket,
    find_stack,
    require_stack,
    which_exist,
)
from semif.errors import SemifError
from semif.lock.lock_file import Lock
from semif.target.endpoint_state import EndpointState, find_endpoint

TEMPLATE = json.dumps(
    {
        "Resources": {"Bucket": {"Type": "AWS::S3::Bucket", "Properties": {"BucketName": "models"}}},
        "Outputs": {"BucketName": {"Value": "models"}},
    }
)


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> Iterator[Aws]:
    monkeypatch.delenv("AWS_PROFILE", raising=False)
    with mock_aws():
        yield Aws(region="us-east-1")


def test_a_stack_is_found_with_its_outputs_until_it_is_deleted(aws: Aws) -> None:
    assert find_stack(aws, "Semif-demo-Artifacts") is None
    aws.cloudformation.create_stack(StackName="Semif-demo-Artifacts", TemplateBody=TEMPLATE)
    stack = require_stack(aws, "Semif-demo-Artifacts", missing="deploy it")
    assert stack.status == "CREATE_COMPLETE"
    assert stack.output("BucketName") == "models"
    with pytest.raises(SemifError, match="has no output RepositoryUri"):
        stack.output("RepositoryUri")
    names = ("Semif-demo-Endpoint", "Semif-demo-Artifacts")
    assert which_exist(aws, names) == ["Semif-demo-Artifacts"]
    delete_stack(aws, stack, poll_seconds=0)
    assert find_stack(aws, stack.name) is None
    assert find_stack(aws, stack.id) is None
    assert which_exist(aws, names) == []


def test_a_bucket_is_emptied_of_versions_and_delete_markers(aws: Aws) -> None:
    aws.s3.create_bucket(Bucket="models")
    aws.s3.put_bucket_versioning(Bucket="models", VersioningConfiguration={"Status": "Enabled"})
    for body in (b"1", b"2"):
        aws.s3.put_object(Bucket="models", Key="models/a", Body=body)
    aws.s3.delete_object(Bucket="models", Key="models/a")
    assert empty_bucket(aws.s3, "models") == 3
    assert empty_bucket(aws.s3, "models") == 0
    aws.s3.delete_bucket(Bucket="models")


DIGEST = "sha256:" + "d" * 64
IMAGE = f"123456789012.dkr.ecr.us-east-1.amazonaws.com/semif@{DIGEST}"
LOCK = Lock.model_validate(
    {
        "schema": 1,
        "environment": "demo",
        "kind": "decision",
        "account": "123456789012",
        "region": "us-east-1",
        "image": {"uri": IMAGE, "source_sha256": "a" * 64, "base": f"public.ecr.aws/base@{DIGEST}"},
        "model": {
            "preset": "embedded",
            "manifest_sha256": "b" * 64,
            "s3_uri": f"s3://models/models/{'b' * 64}/model.tar.gz",
            "archive_sha256": "c" * 64,
            "format": "tar.gz",
        },
    }
)


def state(**changed: str) -> EndpointState:
    fields = {
        "name": "semif-demo",
        "variant": "AllTraffic",
        "status": "InService",
        "failure_reason": None,
        "config": "config",
        "instance_types": ("ml.c6i.large",),
        "instances": 1,
        "desired_instances": 1,
        "image": IMAGE,
        "model_data": LOCK.model.s3_uri,
    }
    return EndpointState(**{**fields, **changed})  # type: ignore[arg-type]  # a table of known fields


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"status": "Creating"}, "is Creating, not InService"),
        ({"failure_reason": "no capacity"}, "SageMaker says: no capacity"),
        ({"config": "config-before"}, "runs the configuration config-before, its stack has config"),
        ({"image": IMAGE.replace("d", "e")}, "it runs the image"),
        ({"fallback_image": IMAGE}, "its last types run the image"),
        ({"model_data": "s3://models/models/old/model.tar.gz"}, "it runs the model s3://models/models/old"),
    ],
)
def test_in_service_is_not_enough(changed: dict[str, str], problem: str) -> None:
    assert list(state().problems(LOCK, stack_config="Config")) == []
    (found,) = state(**changed).problems(LOCK, stack_config="config")
    assert problem in found


@pytest.mark.parametrize(
    ("placement", "types"),
    [
        ({"InstanceType": "ml.c6i.large"}, ("ml.c6i.large",)),
        (
            {
                "InstancePools": [
                    {"InstanceType": "ml.g6.xlarge", "Priority": 2},
                    {"InstanceType": "ml.g6e.xlarge", "Priority": 1},
                ]
            },
            ("ml.g6e.xlarge", "ml.g6.xlarge"),
        ),
    ],
)
def test_an_endpoint_tells_the_pins_it_runs(placement: dict[str, object], types: tuple[str, ...]) -> None:
    aws = Aws(region="us-east-1", endpoint_url="http://127.0.0.1:9")
    variant = {"VariantName": "decisions", "ModelName": "model", **placement}
    times = {"CreationTime": 0, "LastModifiedTime": 0}
    endpoint = {"EndpointName": "semif-demo", "EndpointArn": "a" * 20, "EndpointConfigName": "config"}
    running = [{"VariantName": "decisions", "CurrentInstanceCount": 2}]
    config = {"EndpointConfigName": "config", "EndpointConfigArn": "a" * 20, "CreationTime": 0}
    model = {"ModelName": "model", "ModelArn": "a" * 20, "CreationTime": 0}
    container = {"Image": IMAGE, "ModelDataUrl": LOCK.model.s3_uri}
    with Stubber(aws.sagemaker) as stub:
        told = endpoint | times | {"EndpointStatus": "InService", "ProductionVariants": running}
        stub.add_response("describe_endpoint", told)
        stub.add_response("describe_endpoint_config", config | {"ProductionVariants": [variant]})
        stub.add_response("describe_model", model | {"PrimaryContainer": container})
        found = find_endpoint(aws, "semif-demo")
    assert found is not None
    assert (found.instance_types, found.instances) == (types, 2)
    assert list(found.problems(LOCK, stack_config=None)) == []


def test_no_endpoint_is_none(aws: Aws) -> None:
    assert find_endpoint(aws, "semif-demo") is None
