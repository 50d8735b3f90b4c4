"""Batch Transform on the local AWS: jobs that run a container over lines, and what becomes of bad days."""

import json
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.support.machine.waiting import eventually
from tests.support.servers.local_aws import MODEL_ARCHIVE, MODEL_BUCKET, LocalAws

LOG_GROUP = "/aws/sagemaker/TransformJobs"
FILES = "transform-files"


@pytest.fixture(scope="module")
def model(local_aws: LocalAws, container: Path) -> str:
    """A Model whose container answers as its requests say."""
    create_model(local_aws, container, "transforming")
    local_aws.s3.create_bucket(Bucket=FILES)
    return "transforming"


def create_model(aws: LocalAws, container: Path, name: str, **environment: str) -> None:
    aws.sagemaker.create_model(
        ModelName=name,
        ExecutionRoleArn=f"arn:aws:iam::{aws.account}:role/hosting",
        PrimaryContainer={
            "Image": f"{aws.account}.dkr.ecr.{aws.region}.amazonaws.com/adapter@sha256:{'0' * 64}",
            "ModelDataUrl": f"s3://{MODEL_BUCKET}/{MODEL_ARCHIVE}",
            "Environment": {"PYTHONPATH": str(container), **environment},
        },
    )


def line(status: int, body: object) -> bytes:
    """What makes the container answer so."""
    return json.dumps({"status": status, "body": body}).encode()


def request(model: str, name: str, **changes: Any) -> dict[str, Any]:
    asked: dict[str, Any] = {
        "TransformJobName": name,
        "ModelName": model,
        "BatchStrategy": "SingleRecord",
        "MaxConcurrentTransforms": 2,
        "MaxPayloadInMB": 6,
        "ModelClientConfig": {"InvocationsMaxRetries": 1, "InvocationsTimeoutInSeconds": 60},
        "TransformInput": {
            "ContentType": "application/json",
            "DataSource": {"S3DataSource": {"S3DataType": "S3Prefix", "S3Uri": f"s3://{FILES}/{name}/in/"}},
            "SplitType": "Line",
        },
        "TransformOutput": {"AssembleWith": "Line", "S3OutputPath": f"s3://{FILES}/{name}/out"},
        "TransformResources": {"InstanceCount": 1, "InstanceType": "ml.c6i.large"},
    }
    return asked | changes


def ended(aws: LocalAws, name: str) -> dict[str, Any]:
    """The job, once it is over."""

    def look() -> dict[str, Any]:
        return dict(aws.sagemaker.describe_transform_job(TransformJobName=name))

    return eventually(look, lambda job: job["TransformJobStatus"] not in {"InProgress", "Stopping"})


def put(aws: LocalAws, name: str, **files: bytes) -> None:
    for file, content in files.items():
        aws.s3.put_object(Bucket=FILES, Key=f"{name}/in/{file}.jsonl", Body=content)


def outputs(aws: LocalAws, name: str) -> dict[str, list[Any]]:
    listed = aws.s3.list_objects_v2(Bucket=FILES, Prefix=f"{name}/out/").get("Contents", [])
    found = {}
    for key in [item["Key"] for item in listed]:
        text = aws.s3.get_object(Bucket=FILES, Key=key)["Body"].read().decode()
        assert text.endswith("\n")
        found[key.rpartition("/")[2]] = [json.loads(one) for one in text.splitlines()]
    return found


def data_log(aws: LocalAws, name: str) -> list[str]:
    streams = aws.logs.describe_log_streams(logGroupName=LOG_GROUP, logStreamNamePrefix=f"{name}/")
    return [
        message
        for stream in streams["logStreams"]
        if stream["logStreamName"].endswith("/data-log")
        for message in aws.log_lines(LOG_GROUP, stream["logStreamName"])
    ]


def test_lines_are_answered_in_their_order_object_by_object(local_aws: LocalAws, model: str) -> None:
    many = b"".join(line(200, number) + b"\n" for number in range(30))
    put(local_aws, "ordered", many=many, unended=line(200, "one") + b"\n" + line(200, "two"))
    arn = local_aws.sagemaker.create_transform_job(**request(model, "ordered"))["TransformJobArn"]
    assert arn.endswith(":transform-job/ordered")
    job = ended(local_aws, "ordered")
    assert (job["TransformJobStatus"], job["ModelName"]) == ("Completed", model)
    assert job["TransformEndTime"] >= job["TransformStartTime"]
    assert outputs(local_aws, "ordered") == {
        "many.jsonl.out": list(range(30)),
        "unended.jsonl.out": ["one", "two"],
    }
    (listed,) = local_aws.sagemaker.list_transform_jobs(NameContains="order")["TransformJobSummaries"]
    assert listed["TransformJobStatus"] == "Completed"


@pytest.mark.parametrize(("status", "blame"), [(400, "ClientError"), (503, "AlgorithmError")])
def test_a_refused_line_fails_the_job_and_takes_its_objects_answers_along(
    local_aws: LocalAws, model: str, status: int, blame: str
) -> None:
    name = f"refused-{status}"
    put(local_aws, name, bad=line(200, 1) + b"\n" + line(status, "no"), good=line(200, 2))
    local_aws.sagemaker.create_transform_job(**request(model, name))
    job = ended(local_aws, name)
    assert job["TransformJobStatus"] == "Failed"
    assert job["FailureReason"] == f"{blame}: See job logs for more information"
    assert outputs(local_aws, name) == {"good.jsonl.out": [2]}
    (told,) = data_log(local_aws, name)
    assert f"{name}/in/bad.jsonl: {blame}: {status}" in told


def test_a_container_that_does_not_start_fails_the_job(local_aws: LocalAws, container: Path) -> None:
    create_model(local_aws, container, "no-start", REFUSE="no such model")
    local_aws.sagemaker.create_transform_job(**request("no-start", "no-start"))
    job = ended(local_aws, "no-start")
    assert job["TransformJobStatus"] == "Failed"
    assert "container: cannot start: no such model" in job["FailureReason"]
    assert "TransformStartTime" not in job


def test_names_are_used_once_and_other_ways_are_refused(local_aws: LocalAws, model: str) -> None:
    put(local_aws, "once", one=line(200, 1))
    local_aws.sagemaker.create_transform_job(**request(model, "once"))
    with pytest.raises(local_aws.sagemaker.exceptions.ResourceInUse, match="must be unique"):
        local_aws.sagemaker.create_transform_job(**request(model, "once"))
    for changes, problem in (
        ({"BatchStrategy": "MultiRecord"}, "BatchStrategy SingleRecord alone, got MultiRecord"),
        ({"MaxConcurrentTransforms": 20}, "is 120, over 100"),
        ({"ModelName": "nobody"}, "Could not find model"),
        ({"TransformResources": {"InstanceCount": 1, "InstanceType": "ml.c7g.large"}}, "ml.c7g.large"),
    ):
        with pytest.raises(ClientError, match=problem):
            local_aws.sagemaker.create_transform_job(**request(model, "other", **changes))
    with pytest.raises(local_aws.sagemaker.exceptions.ResourceNotFound):
        local_aws.sagemaker.describe_transform_job(TransformJobName="other")
    assert ended(local_aws, "once")["TransformJobStatus"] == "Completed"


def test_a_stopped_job_ends_without_the_answers_of_what_it_was_at(local_aws: LocalAws, model: str) -> None:
    refused_again_and_again = b"".join(line(503, number) + b"\n" for number in range(500))
    put(local_aws, "stopped", slow=refused_again_and_again)
    asked = request(model, "stopped", ModelClientConfig={"InvocationsMaxRetries": 3})
    local_aws.sagemaker.create_transform_job(**asked)
    local_aws.sagemaker.stop_transform_job(TransformJobName="stopped")
    assert ended(local_aws, "stopped")["TransformJobStatus"] == "Stopped"
    assert outputs(local_aws, "stopped") == {}
