"""The published container's stand-in behind a local endpoint: llama-server itself on real weights."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from semif.aws.clients import Aws
from semif.client.chat import chat_request, complete, stream
from semif.client.errors import DecisionError
from semif.client.transports.endpoint_transport import EndpointTransport
from semif.models.packaging.build import build_model
from semif.models.presets import load_preset
from tests.support.models.small_models import pin_of
from tests.support.servers.local_aws import LocalAws
from tests.support.servers.local_endpoints import settled

IMAGE = "763104351884.dkr.ecr.us-east-1.amazonaws.com/llama-cpp@sha256:" + "0" * 64
BUCKET = "text-models"
SMALL = {"SM_LLAMA_CPP_CTX_SIZE": "512", "SM_LLAMA_CPP_PARALLEL": "1", "SM_LLAMA_CPP_CACHE_RAM": "0"}
ASKED = {"max_tokens": 8, "temperature": 0.0}


@pytest.fixture(scope="module")
def archive(local_aws: LocalAws, short_gguf: Path) -> str:
    """The archive of the embedded model's first layers in the local S3."""
    preset = load_preset("embedded").model_copy(update={"model": pin_of(short_gguf)})
    local_aws.s3.create_bucket(Bucket=BUCKET)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in local_aws.environment.items():
            if name.startswith("AWS_"):
                patch.setenv(name, value)
        return str(build_model(preset, f"s3://{BUCKET}/models").place)


def create(aws: LocalAws, name: str, container: dict[str, Any]) -> tuple[str, str]:
    """Create an endpoint and wait: its status and the reason of a failure."""
    aws.sagemaker.create_model(
        ModelName=name,
        ExecutionRoleArn=f"arn:aws:iam::{aws.account}:role/hosting",
        PrimaryContainer={"Image": IMAGE, **container},  # type: ignore[typeddict-item]  # wrong ones too
    )
    aws.sagemaker.create_endpoint_config(
        EndpointConfigName=name,
        ProductionVariants=[
            {
                "VariantName": "AllTraffic",
                "ModelName": name,
                "InstanceType": "ml.c6i.large",
                "InitialInstanceCount": 1,
            }
        ],
    )
    aws.sagemaker.create_endpoint(EndpointName=name, EndpointConfigName=name)
    return settled(aws, name)


@pytest.fixture(scope="module")
def aws(local_aws: LocalAws, archive: str) -> Iterator[Aws]:
    """Clients of the AWS in which the endpoint `text` serves."""
    assert create(local_aws, "text", {"ModelDataUrl": archive, "Environment": SMALL}) == ("InService", "")
    aws = Aws(region=local_aws.region, endpoint_url=local_aws.endpoint_url)
    yield aws
    aws.sagemaker_runtime.close()
    local_aws.sagemaker.delete_endpoint(EndpointName="text")


def test_it_answers_with_words_and_the_same_words_streamed(aws: Aws) -> None:
    whole = complete(aws, "text", chat_request("Which colour is the sky?", **ASKED))
    pieces = list(stream(aws, "text", chat_request("Which colour is the sky?", **ASKED, stream=True)))
    assert whole.text
    assert "".join(pieces) == whole.text
    assert len(pieces) > 1


def test_a_system_message_changes_the_answer(aws: Aws) -> None:
    def said(system: str | None) -> str:
        return complete(aws, "text", chat_request("Who are you?", system=system, **ASKED)).text

    assert said("You are a parrot called Polly.") != said(None)


def test_llama_servers_refusals_come_through_typed(aws: Aws) -> None:
    too_long = chat_request("word " * 2000, **ASKED)
    for body in (b"no JSON", too_long):
        with pytest.raises(DecisionError) as refused:
            EndpointTransport(aws.sagemaker_runtime, "text").send(body)
        assert 400 <= (refused.value.status or 0) < 600
    with pytest.raises(DecisionError):
        list(stream(aws, "text", chat_request("word " * 2000, **ASKED, stream=True)))


def test_an_unknown_endpoint_streams_nothing(aws: Aws) -> None:
    with pytest.raises(ClientError) as refused:
        aws.sagemaker_runtime.invoke_endpoint_with_response_stream(EndpointName="nobody", Body=b"{}")
    assert refused.value.response["Error"]["Code"] == "ValidationError"


def test_flags_that_llama_server_does_not_know_keep_it_from_starting(
    local_aws: LocalAws, archive: str
) -> None:
    variables = {**SMALL, "SM_LLAMA_CPP_NO_SUCH_FLAG": "1"}
    status, reason = create(local_aws, "unknown-flag", {"ModelDataUrl": archive, "Environment": variables})
    assert status == "Failed"
    assert reason.startswith("the container ended with exit status 1: llama-server: these flags are not all")
    stream_name = local_aws.logs.describe_log_streams(logGroupName="/aws/sagemaker/Endpoints/unknown-flag")
    lines = local_aws.log_lines(
        "/aws/sagemaker/Endpoints/unknown-flag", stream_name["logStreams"][0]["logStreamName"]
    )
    assert any("invalid argument: --no-such-flag" in line for line in lines)
