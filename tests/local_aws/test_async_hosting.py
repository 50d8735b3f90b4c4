"""Asynchronous endpoints of the local AWS: requests and answers in S3, topics that are told."""

import json
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError

from tests.support.machine.waiting import eventually
from tests.support.servers.local_aws import LocalAws
from tests.support.servers.local_endpoints import create, settled

BUCKET, NAME = "queued", "queued"
OK, FAILED = "queued-answers", "queued-failures"


class Topics:
    """Two topics, each with a queue that keeps what it is told."""

    def __init__(self, aws: LocalAws) -> None:
        session = boto3.Session(
            aws_access_key_id="local", aws_secret_access_key="local", region_name=aws.region
        )
        sns: Any = session.client("sns", endpoint_url=aws.endpoint_url)
        self._sqs: Any = session.client("sqs", endpoint_url=aws.endpoint_url)
        self.arns: dict[str, str] = {}
        self._queues: dict[str, str] = {}
        for name in (OK, FAILED):
            self.arns[name] = sns.create_topic(Name=name)["TopicArn"]
            self._queues[name] = self._sqs.create_queue(QueueName=name)["QueueUrl"]
            sns.subscribe(
                TopicArn=self.arns[name],
                Protocol="sqs",
                Endpoint=f"arn:aws:sqs:{aws.region}:{aws.account}:{name}",
                Attributes={"RawMessageDelivery": "true"},
            )

    def told(self, name: str) -> dict[str, Any]:
        """The next message of a topic."""
        url = self._queues[name]
        asked = {"QueueUrl": url, "MaxNumberOfMessages": 1, "WaitTimeSeconds": 5}
        (message,) = eventually(lambda: self._sqs.receive_message(**asked).get("Messages", []))
        self._sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
        body: dict[str, Any] = json.loads(message["Body"])
        return body


@pytest.fixture(scope="module")
def topics(local_aws: LocalAws, container: Path) -> Topics:
    """The topics of an asynchronous endpoint in service."""
    local_aws.s3.create_bucket(Bucket=BUCKET)
    topics = Topics(local_aws)
    queue = {
        "ClientConfig": {"MaxConcurrentInvocationsPerInstance": 2},
        "OutputConfig": {
            "S3OutputPath": f"s3://{BUCKET}/answers",
            "S3FailurePath": f"s3://{BUCKET}/failures",
            "NotificationConfig": {"SuccessTopic": topics.arns[OK], "ErrorTopic": topics.arns[FAILED]},
        },
    }
    create(local_aws, container, NAME, queue=queue)
    assert settled(local_aws, NAME) == ("InService", "")
    assert local_aws.sagemaker.describe_endpoint(EndpointName=NAME)["AsyncInferenceConfig"] == queue
    return topics


def ask(aws: LocalAws, request: object, **more: Any) -> dict[str, Any]:
    aws.s3.put_object(Bucket=BUCKET, Key="requests/one.json", Body=json.dumps(request).encode())
    return dict(
        aws.sagemaker_runtime.invoke_endpoint_async(
            EndpointName=NAME,
            InputLocation=f"s3://{BUCKET}/requests/one.json",
            ContentType="application/json",
            **more,
        )
    )


def content(aws: LocalAws, uri: str) -> bytes:
    return aws.s3.get_object(Bucket=BUCKET, Key=uri.removeprefix(f"s3://{BUCKET}/"))["Body"].read()


def test_an_answer_lies_where_the_reply_said_and_the_topic_is_told(
    local_aws: LocalAws, topics: Topics
) -> None:
    accepted = ask(
        local_aws,
        {"status": 200, "body": {"result": 1}},
        InferenceId="order-7",
        S3OutputPathExtension="job",
        Filename="0001",
    )
    assert accepted["ResponseMetadata"]["HTTPStatusCode"] == 202
    assert accepted["InferenceId"] == "order-7"
    assert accepted["OutputLocation"] == f"s3://{BUCKET}/answers/job/0001"
    told = topics.told(OK)
    assert (told["invocationStatus"], told["inferenceId"]) == ("Completed", "order-7")
    assert told["responseParameters"] == {
        "contentType": "application/json",
        "outputLocation": accepted["OutputLocation"],
    }
    assert json.loads(content(local_aws, accepted["OutputLocation"])) == {"result": 1}


def test_a_refusal_is_a_failure_object(local_aws: LocalAws, topics: Topics) -> None:
    body = {"error": {"code": "invalid", "message": "no"}, "retryable": False}
    accepted = ask(local_aws, {"status": 400, "body": body})
    told = topics.told(FAILED)
    assert (told["invocationStatus"], told["inferenceId"]) == ("Failed", accepted["InferenceId"])
    assert "Received client error (400) from primary" in told["failureReason"]
    assert json.loads(content(local_aws, accepted["FailureLocation"])) == body
    with pytest.raises(ClientError, match="NoSuchKey"):
        content(local_aws, accepted["OutputLocation"])


def test_a_chunked_reply_is_a_failure(local_aws: LocalAws, topics: Topics) -> None:
    ask(local_aws, {"chunked": True, "status": 200, "body": {}})
    assert "did not specify the required Content-Length header" in topics.told(FAILED)["failureReason"]


def test_a_request_that_is_not_there_is_a_failure(local_aws: LocalAws, topics: Topics) -> None:
    local_aws.sagemaker_runtime.invoke_endpoint_async(
        EndpointName=NAME, InputLocation=f"s3://{BUCKET}/requests/none.json"
    )
    assert "could not be read" in topics.told(FAILED)["failureReason"]


@pytest.mark.usefixtures("topics")
def test_each_kind_of_endpoint_takes_its_own_calls(local_aws: LocalAws, container: Path) -> None:
    runtime = local_aws.sagemaker_runtime
    with pytest.raises(
        runtime.exceptions.ValidationError, match="asynchronous: it takes InvokeEndpointAsync"
    ):
        runtime.invoke_endpoint(EndpointName=NAME, Body=b"{}")
    with pytest.raises(ClientError, match="asynchronous: it takes InvokeEndpointAsync"):
        runtime.invoke_endpoint_with_response_stream(EndpointName=NAME, Body=b"{}")
    create(local_aws, container, "not-queued")
    assert settled(local_aws, "not-queued") == ("InService", "")
    with pytest.raises(ClientError, match="not an asynchronous endpoint"):
        runtime.invoke_endpoint_async(EndpointName="not-queued", InputLocation=f"s3://{BUCKET}/x")
    for name, other, told in ((NAME, "not-queued", "removed from"), ("not-queued", NAME, "added to")):
        before = local_aws.sagemaker.describe_endpoint(EndpointName=name)["EndpointConfigName"]
        with pytest.raises(ClientError, match=f"AsyncInferenceConfig parameter cannot be {told}") as caught:
            local_aws.sagemaker.update_endpoint(EndpointName=name, EndpointConfigName=other)
        assert caught.value.response["Error"]["Code"] == "ValidationException"
        assert settled(local_aws, name) == ("InService", "")
        assert local_aws.sagemaker.describe_endpoint(EndpointName=name)["EndpointConfigName"] == before
    local_aws.sagemaker.delete_endpoint(EndpointName="not-queued")
