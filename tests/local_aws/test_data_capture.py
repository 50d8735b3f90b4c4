"""Data capture of the local AWS: answered requests come into S3 in SageMaker's form, and become tasks."""

import json
import random
from pathlib import Path
from typing import Any

import pytest

from semif.evaluation.captured.unlabelled import Sample
from tests.support.servers.local_aws import LocalAws
from tests.support.servers.local_endpoints import create, settled

BUCKET, NAME = "captured", "captured"
DECISION = {
    "decision": {
        "id": "d",
        "state": "The sky is blue.",
        "question": "Which colour?",
        "options": [{"id": "blue"}, {"id": "green"}],
    }
}


def captured(aws: LocalAws) -> dict[str, dict[str, Any]]:
    """Lines by inference id."""
    objects = aws.s3.list_objects_v2(Bucket=BUCKET).get("Contents", [])
    assert all(item["Key"].startswith("kept/captured/primary/20") for item in objects)
    texts = [aws.s3.get_object(Bucket=BUCKET, Key=item["Key"])["Body"].read() for item in objects]
    lines = [json.loads(text) for text in texts]
    return {line["eventMetadata"]["inferenceId"]: line for line in lines}


def test_answered_requests_are_captured_and_become_tasks(local_aws: LocalAws, container: Path) -> None:
    local_aws.s3.create_bucket(Bucket=BUCKET)
    capture = {
        "InitialSamplingPercentage": 100,
        "DestinationS3Uri": f"s3://{BUCKET}/kept",
        "CaptureOptions": [{"CaptureMode": "Input"}, {"CaptureMode": "Output"}],
        "CaptureContentTypeHeader": {"JsonContentTypes": ["application/json"]},
    }
    create(local_aws, container, NAME, capture=capture)
    assert settled(local_aws, NAME) == ("InService", "")
    told = local_aws.sagemaker.describe_endpoint(EndpointName=NAME)["DataCaptureConfig"]
    assert (told["CaptureStatus"], told["CurrentSamplingPercentage"]) == ("Started", 100)

    def ask(body: object, inference_id: str, content_type: str = "application/json") -> None:
        local_aws.sagemaker_runtime.invoke_endpoint(
            EndpointName=NAME, Body=json.dumps(body), ContentType=content_type, InferenceId=inference_id
        )

    ask(DECISION, "a-decision", "application/vnd.semif+json")  # which the container sends back as it is
    ask({"status": 200, "body": {"fine": True}}, "other-json")
    with pytest.raises(local_aws.sagemaker_runtime.exceptions.ModelError):
        ask({"status": 503, "body": {}}, "refused")

    lines = captured(local_aws)
    assert set(lines) == {"a-decision", "other-json"}
    output = lines["other-json"]["captureData"]["endpointOutput"]
    assert (output["encoding"], output["mode"], json.loads(output["data"])) == (
        "JSON",
        "OUTPUT",
        {"fine": True},
    )
    assert lines["a-decision"]["captureData"]["endpointInput"]["encoding"] == "BASE64"
    sample = Sample(10, random.Random(0))
    sample.take(json.dumps(line).encode() for line in lines.values())
    (row,) = sample.rows
    assert (row["id"], row["state"]) == ("a-decision", "The sky is blue.")
