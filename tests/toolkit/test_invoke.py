"""Asking: what is sent, and how a container's errors come back through SageMaker."""

import json
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from botocore.stub import Stubber

from semif.aws import Aws
from semif.errors import SemifError
from semif.invoke import MAX_BODY_BYTES, AnswerError, ask_endpoint, ask_url, request_body

DECISION = b'{"id": "a", "state": "s", "question": "q", "options": [{"id": "x"}, {"id": "y"}]}'


@pytest.mark.parametrize("form", ["decision", "decisions", "questions", "messages"])
def test_a_request_is_sent_as_it_was_written(form: str) -> None:
    text = f'{{ "{form}":  null }}'.encode()
    assert request_body(text, name="file") == text


def test_a_lone_decision_is_wrapped_and_not_rewritten() -> None:
    doubled = b'{"id": "a", "id": "b", "state": "\\u00e9"}'
    assert request_body(doubled, name="file") == b'{"decision": ' + doubled + b"}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "file is not JSON"),
        (b"\xff", "file is not JSON"),
        (b"[" * 100_000, "file is nested too deeply"),
        (b"[]", "file holds an array, a request is an object"),
        (b'"' + b"a" * 10 + b'"', "file holds a string"),
        (b"1.5", "file holds a number"),
        (b"true", "file holds true or false"),
        (b"null", "file holds null"),
        (b'{"id": "' + b"a" * MAX_BODY_BYTES + b'"}', f"SageMaker takes {MAX_BODY_BYTES}"),
    ],
)
def test_what_cannot_be_a_request_is_not_sent(text: bytes, message: str) -> None:
    with pytest.raises(SemifError, match=message):
        request_body(text, name="file")


def model_error(status: int, message: str) -> AnswerError:
    """What becomes of SageMaker's ModelError with this original status and message."""
    aws = Aws(region="us-east-1", endpoint_url="http://127.0.0.1:9")
    with Stubber(aws.sagemaker_runtime) as stub:
        stub.add_client_error(
            "invoke_endpoint",
            service_error_code="ModelError",
            service_message=f"Received server error ({status}) from primary with message ...",
            http_status_code=424,
            modeled_fields={
                "OriginalStatusCode": status,
                "OriginalMessage": message,
                "LogStreamArn": "arn:aws:logs:us-east-1:111122223333:log-group:demo",
            },
        )
        with pytest.raises(AnswerError) as caught:
            ask_endpoint(aws, "demo", DECISION)
    assert "\n" not in str(caught.value)
    return caught.value


def test_a_refused_request_names_code_place_and_reason() -> None:
    error = {"code": "invalid_request", "message": "must be a string", "path": "decision.question"}
    found = model_error(400, json.dumps({"error": error, "retryable": False}))
    assert str(found) == ("the container answered 400 invalid_request at decision.question: must be a string")
    assert found.status == 400
    assert found.body is not None
    assert not found.body.retryable


def test_an_overload_says_when_to_come_back() -> None:
    error = {"code": "overloaded", "message": "16 requests are being answered"}
    found = model_error(503, json.dumps({"error": error, "retryable": True, "retry_after_seconds": 1.5}))
    assert str(found).endswith("overloaded: 16 requests are being answered; try again in 1.5 s")


@pytest.mark.parametrize(
    "message", ["", "<html>\n<h1>Bad gateway</h1>", '{"error": "x"}', "null", "\ud83d" * 3]
)
def test_an_error_that_is_not_the_wires_is_still_one_line(message: str) -> None:
    found = model_error(502, message)
    assert str(found).startswith("the container answered 502: ")
    assert found.body is None


def test_sagemakers_own_errors_are_not_the_containers() -> None:
    aws = Aws(region="us-east-1", endpoint_url="http://127.0.0.1:9")
    with Stubber(aws.sagemaker_runtime) as stub:
        stub.add_client_error("invoke_endpoint", "ValidationError", "Endpoint demo not found.", 400)
        with pytest.raises(
            SemifError, match="InvokeEndpoint failed: ValidationError: Endpoint demo"
        ) as caught:
            ask_endpoint(aws, "demo", DECISION)
    assert not isinstance(caught.value, AnswerError)


class Replies:
    """An HTTP server on 127.0.0.1 that gives one fixed reply, or hangs up, and counts the requests."""

    def __init__(self) -> None:
        self.requests = 0
        self.status = 200
        self.body: bytes | None = None
        replies = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                replies.requests += 1
                self.rfile.read(int(self.headers["Content-Length"]))
                if replies.body is not None:
                    self.send_response(replies.status)
                    self.send_header("Content-Length", str(len(replies.body)))
                    self.end_headers()
                    self.wfile.write(replies.body)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it
                pass

        self._server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


@pytest.fixture
def replies() -> Iterator[Replies]:
    server = Replies()
    yield server
    server.close()


def test_a_lost_answer_is_not_asked_for_again(replies: Replies) -> None:
    aws = Aws(region="us-east-1", endpoint_url=replies.url)
    with pytest.raises(SemifError, match="cannot be reached"):
        ask_endpoint(aws, "demo", DECISION)
    with pytest.raises(SemifError, match="is the adapter running there"):
        ask_url(replies.url, DECISION)
    assert replies.requests == 2


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b'{"result": {}}', b'{"error": "with status 200"}'])
def test_a_reply_that_is_not_the_wires_is_refused(replies: Replies, body: bytes) -> None:
    replies.body = body
    with pytest.raises(SemifError, match="the reply is not one of this version's"):
        ask_url(replies.url, DECISION)


@pytest.mark.parametrize(
    "url",
    [
        *("", "nowhere", "ftp://127.0.0.1", "http://", "http://:80", "http://127.0.0.1:99999", "http://a b"),
        *("http://127.0.0.1:9?x=1", "http://127.0.0.1:9#x", "http://user:word@127.0.0.1:9"),
    ],
)
def test_a_url_that_is_none_is_told_in_one_line(url: str) -> None:
    with pytest.raises(
        SemifError, match=r"cannot be asked: an address is http:// or https://, a host"
    ) as caught:
        ask_url(url, DECISION)
    assert "\n" not in str(caught.value)


def test_a_refused_connection_is_told_without_objects_and_numbers() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    with pytest.raises(SemifError) as caught:
        ask_url(url, DECISION)
    assert str(caught.value) == (
        f"{url}/invocations cannot be reached: connection refused; is the adapter running there?"
    )


def test_another_servers_error_names_the_address_and_shows_no_page(replies: Replies) -> None:
    replies.status, replies.body = 404, b"<!DOCTYPE html><html><h1>Not found</h1>"
    with pytest.raises(AnswerError) as caught:
        ask_url(replies.url, DECISION)
    assert str(caught.value) == f"{replies.url}/invocations answered 404: a web page"
    replies.body = b"no " * 1000
    with pytest.raises(AnswerError) as caught:
        ask_url(replies.url, DECISION)
    assert len(str(caught.value)) < 300
