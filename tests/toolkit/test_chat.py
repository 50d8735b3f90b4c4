"""Text: what a deployment's first completion asks, and what counts as one."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
from botocore.response import StreamingBody
from botocore.stub import Stubber

from semif.aws import Aws
from semif.chat import Completion
from semif.deployment import first_answer
from semif.environment import load_environment
from semif.errors import SemifError
from semif.invoke import AnswerError
from semif.project import project_root
from semif.target import Target


def ask(replies: Any) -> object:
    """The first answer of the text endpoint, where `replies` prepares what SageMaker says."""
    aws = Aws(region="us-east-1", endpoint_url="http://127.0.0.1:9")
    environment = load_environment("text")
    target = Target(
        project_root(), environment, aws, "111122223333", Path("unused"), local=False, poll_seconds=0
    )
    with Stubber(aws.sagemaker_runtime) as stub:
        replies(stub)
        return first_answer(target)


def reply(raw: bytes) -> Any:
    def add(stub: Stubber) -> None:
        request = json.dumps(
            {"messages": [{"role": "user", "content": "Which colour is the sky?"}], "max_tokens": 16}
        ).encode()
        stub.add_response(
            "invoke_endpoint",
            {"Body": StreamingBody(io.BytesIO(raw), len(raw)), "ContentType": "application/json"},
            {
                "EndpointName": "semif-text",
                "Body": request,
                "ContentType": "application/json",
                "Accept": "application/json",
            },
        )

    return add


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ({"role": "assistant", "content": "Blue."}, "Blue."),
        ({"role": "assistant", "content": "", "reasoning_content": "The sky"}, ""),
        ({"role": "assistant", "content": None}, ""),
    ],
)
def test_a_completion_is_one_whatever_was_said_so_far(message: dict[str, object], text: str) -> None:
    raw = json.dumps({"choices": [{"index": 0, "message": message}], "model": "x"}).encode()
    assert ask(reply(raw)) == Completion(text, raw)


@pytest.mark.parametrize(
    "raw",
    [
        *(b"", b"<html>", b"{}", b"[]", b"null", b'{"error": {"code": 500}}', b'{"choices": []}', b"\xff"),
        *(b'{"choices": [{}]}', b'{"choices": [{"message": "x"}]}', b"[" * 100_000),
    ],
)
def test_a_reply_without_a_completion_is_a_failure_of_one_line(raw: bytes) -> None:
    with pytest.raises(SemifError, match=r"^semif-text answered with no chat completion: ") as caught:
        ask(reply(raw))
    assert "\n" not in str(caught.value)


def test_the_containers_own_refusal_comes_through() -> None:
    def refuse(stub: Stubber) -> None:
        stub.add_client_error(
            "invoke_endpoint",
            service_error_code="ModelError",
            http_status_code=424,
            modeled_fields={
                "OriginalStatusCode": 400,
                "OriginalMessage": '{"error": {"code": 400, "message": "no slot"}}',
                "LogStreamArn": "arn:aws:logs:us-east-1:111122223333:log-group:text",
            },
        )

    with pytest.raises(AnswerError, match=r"the container answered 400: .*no slot"):
        ask(refuse)
