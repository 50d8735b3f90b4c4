"""Text: what a deployment's first completion asks, and what counts as one."""

import io
import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from botocore.response import StreamingBody
from botocore.stub import Stubber
from click.testing import CliRunner

from local_aws.sagemaker.streaming import event_frame
from semif.aws.clients import Aws
from semif.cli import main
from semif.client.chat import Completion, chat_request, stream
from semif.client.errors import RequestRefusedError
from semif.deployment.first_answer import first_answer
from semif.environment.environment import load_environment
from semif.errors import SemifError
from semif.project.root import project_root
from semif.target.target import Target


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

    with pytest.raises(RequestRefusedError, match=r"the container answered 400: .*no slot"):
        ask(refuse)


def streamed(blocks: list[bytes], *, broken: bool = False) -> list[str]:
    """What `stream` makes of blocks from SageMaker; a `broken` connection lacks the last byte."""
    part = {":message-type": "event", ":event-type": "PayloadPart"}

    class SageMaker(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200)
            self.send_header("Content-Type", "application/vnd.amazon.eventstream")
            frames = b"".join(event_frame(part, block) for block in blocks)
            if broken:
                frames = b"%x\r\n" % (len(frames) + 1) + frames
                self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            self.wfile.write(frames)

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), SageMaker) as server:
        answering = threading.Thread(target=server.handle_request)
        answering.start()
        aws = Aws(region="us-east-1", endpoint_url=f"http://127.0.0.1:{server.server_port}")
        try:
            return list(stream(aws, "semif-text", b"{}"))
        finally:
            answering.join()
            aws.sagemaker_runtime.close()


def chunk(text: str | None) -> bytes:
    delta = {"role": "assistant"} if text is None else {"content": text}
    return b"data: " + json.dumps({"choices": [{"delta": delta}]}, ensure_ascii=False).encode() + b"\n\n"


WHOLE = b": comment\n\n" + chunk(None) + chunk("Bl\u00e4ue") + chunk(" \u2600") + b"data: [DONE]\n\n"


@pytest.mark.parametrize("size", [1, 2, 7, 64, len(WHOLE)])
def test_a_stream_is_read_wherever_its_blocks_end(size: int) -> None:
    blocks = [WHOLE[start : start + size] for start in range(0, len(WHOLE), size)]
    assert streamed(blocks) == ["Bl\u00e4ue", " \u2600"]


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (b"", "broke the stream off before the completion's end"),
        (chunk("Blue"), "broke the stream off"),
        (b'data: {"error": {"code": 500, "message": "no slot"}}\n\n', "no chat completion: .*no slot"),
        (b'{"error": {"code": 500}}', "answered with no chat completion"),
        (b"data: x\n\n", "answered with no chat completion: x"),
        (b"data: [1]\n\n", "answered with no chat completion"),
        (b'data: {"choices": [1]}\n\n', "answered with no chat completion"),
        (b"data: " + b"[" * 100_000 + b"\n\n", "answered with no chat completion"),
        (b"data: " + b"x" * 1_100_000, "a line of more than 1,048,576 bytes"),
    ],
)
def test_a_stream_that_is_no_completion_is_a_failure_of_one_line(raw: bytes, said: str) -> None:
    with pytest.raises(SemifError, match=said) as caught:
        streamed([raw])
    assert "\n" not in str(caught.value)


def test_a_connection_that_breaks_off_is_told_in_one_line() -> None:
    with pytest.raises(SemifError, match="semif-text broke the connection off while it answered; ask again"):
        streamed([chunk("Blue")], broken=True)


def test_a_request_holds_what_was_asked_for_and_no_more() -> None:
    assert json.loads(chat_request("Hi")) == {"messages": [{"role": "user", "content": "Hi"}]}
    asked = chat_request("Hi", system="Be brief.", max_tokens=3, temperature=0.0, stream=True)
    assert json.loads(asked) == {
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}],
        "max_tokens": 3,
        "temperature": 0.0,
        "stream": True,
    }
    with pytest.raises(SemifError, match="SageMaker takes 6291456; shorten the message"):
        chat_request("x" * 6_291_456)


def test_ask_tells_what_it_cannot_do() -> None:
    decision = CliRunner().invoke(main, ["ask", "demo", "Hello"])
    assert (decision.exit_code, "use `semif decide demo FILE`" in decision.stderr) == (1, True)
    both = CliRunner().invoke(main, ["ask", "text", "--json", "--stream", "Hello"])
    assert (both.exit_code, "give one" in both.stderr) == (2, True)
