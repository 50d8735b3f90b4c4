"""A stand-in of SageMaker's runtime, or of an adapter, over real HTTP: it fails as it is told, then answers.

With the address of a real adapter it hands on what it has no reply for, and wraps that adapter's errors as
SageMaker does, in ModelError.
"""

import json
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

import pytest
import urllib3

from semif.aws.clients import Aws
from tests.support.servers.running import running

if TYPE_CHECKING:
    from mypy_boto3_sagemaker_runtime import SageMakerRuntimeClient


@dataclass(frozen=True)
class Reply:
    """What one request is answered with. None for a status hangs up instead."""

    status: int | None
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)


HANG_UP = Reply(None)
CUT_OFF = Reply(200, b'{"result', {"Content-Length": "100", "Connection": "close"})


def service_error(status: int, code: str, message: str | None = "told by the service") -> Reply:
    """An error of SageMaker's own, as REST-JSON has it."""
    return Reply(status, json.dumps({"message": message}).encode(), {"x-amzn-ErrorType": code})


def model_error(status: int, body: bytes | str) -> Reply:
    """A container's error as SageMaker tells it."""
    said = body if isinstance(body, str) else body.decode(errors="replace")
    document = {
        "ErrorCode": "CLIENT_ERROR_FROM_MODEL",
        "LogStreamArn": "arn:aws:logs:us-east-1:111122223333:log-group:/aws/sagemaker/Endpoints/demo",
        "Message": f'Received client error ({status}) from primary with message "{said}".',
        "OriginalMessage": said,
        "OriginalStatusCode": status,
    }
    return Reply(424, json.dumps(document).encode(), {"x-amzn-ErrorType": "ModelError"})


def adapter_error(code: str, *, retry_after_seconds: float | None = None, path: str | None = None) -> bytes:
    """The body of an adapter's error."""
    error = {"code": code, "message": "told by the adapter", "path": path}
    hint = {} if retry_after_seconds is None else {"retry_after_seconds": retry_after_seconds}
    return json.dumps({"error": error, "retryable": bool(hint), **hint}).encode()


class StandIn(ThreadingHTTPServer):
    """Answers with `script`, one reply a request, then as the adapter at `behind` does, else with 200."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.adapters = urllib3.PoolManager(maxsize=self.request_queue_size, retries=False)
        self.reset()

    def reset(self) -> None:
        """Forget what was, for the next test."""
        self.behind: str | None = None
        self.script: list[Reply] = []
        self.bodies: list[bytes] = []
        self.headers: list[Mapping[str, str]] = []
        self.connections = 0
        self.open: threading.Event | None = None
        """While this is there and not set, requests are read and not answered."""
        self.arrived = threading.Semaphore(0)
        """Released once for each request that was read."""

    def server_close(self) -> None:
        super().server_close()
        self.adapters.clear()

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that went away is what a test wanted."""

    def answer(self, path: str, body: bytes) -> Reply:
        if self.script:
            return self.script.pop(0)
        if self.behind is None:
            return Reply(200, b"{}")
        reply = self.adapters.request(
            "POST", self.behind + "/invocations", body=body, headers={"content-type": "application/json"}
        )
        if reply.status != 200 and path.startswith("/endpoints/"):
            return model_error(reply.status, reply.data)
        return Reply(reply.status, reply.data)


class _Handler(BaseHTTPRequestHandler):
    server: StandIn
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # else every second write waits for the first one's acknowledgement

    def setup(self) -> None:
        super().setup()
        self.server.connections += 1

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.bodies.append(body)
        self.server.headers.append(dict(self.headers))
        gate = self.server.open
        self.server.arrived.release()
        if gate is not None:
            gate.wait(60)
        reply = self.server.answer(self.path, body)
        if reply.status is None:
            self.close_connection = True
            return
        self.send_response(reply.status)
        for name, value in ({"Content-Length": str(len(reply.body))} | dict(reply.headers)).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(reply.body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="session")
def stand_in_server() -> Iterator[StandIn]:
    with running(StandIn()) as server:
        yield server


@pytest.fixture
def stand_in(stand_in_server: StandIn) -> StandIn:
    """SageMaker's runtime, or an adapter, that fails as it is told; nothing told yet."""
    stand_in_server.reset()
    return stand_in_server


@pytest.fixture(scope="session")
def runtime(stand_in_server: StandIn) -> "SageMakerRuntimeClient":
    """botocore's client of the stand-in, made once: that takes a second."""
    return Aws(region="us-east-1", endpoint_url=stand_in_server.url).sagemaker_runtime
