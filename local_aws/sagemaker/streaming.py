"""InvokeEndpointWithResponseStream, which moto does not have: the reply block by block, as it comes.

https://docs.aws.amazon.com/AmazonS3/latest/API/RESTSelectObjectAppendix.html describes the frames that all
event streams of AWS share.
"""

import http.client
import json
import re
import struct
import zlib
from collections.abc import Iterable, Iterator, Mapping
from urllib.parse import unquote
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from local_aws.core.api import ApiError
from local_aws.core.context import LocalContext
from local_aws.sagemaker.endpoints import SageMakerEndpoints
from local_aws.sagemaker.hosts.host import ContainerReply, ContainerStream, ModelHost
from local_aws.sagemaker.invocation import model_error

_PATH = re.compile(r"/endpoints/([^/]+)/invocations-response-stream")
_REGION = re.compile(r"Credential=[^/]+/[0-9]+/([^/]+)/sagemaker/")
_TEXT = 7
"""The type of a header whose value is text."""


def event_frame(headers: Mapping[str, str], payload: bytes) -> bytes:
    """One message of an event stream."""
    packed = b"".join(
        struct.pack("!B", len(name)) + name.encode() + struct.pack("!BH", _TEXT, len(value)) + value.encode()
        for name, value in headers.items()
    )
    prelude = struct.pack("!II", len(packed) + len(payload) + 16, len(packed))
    message = prelude + struct.pack("!I", zlib.crc32(prelude)) + packed + payload
    return message + struct.pack("!I", zlib.crc32(message))


class StreamedInvocations:
    """Answers this one operation and passes all other requests on."""

    def __init__(
        self, application: WSGIApplication, context: LocalContext, endpoints: SageMakerEndpoints
    ) -> None:
        self._application = application
        self._context = context
        self._endpoints = endpoints

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """WSGI."""
        asked = _PATH.fullmatch(environ["PATH_INFO"])
        if asked is None or environ["REQUEST_METHOD"] != "POST":
            return self._application(environ, start_response)
        body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        headers = {"Content-Type": environ.get("CONTENT_TYPE") or "application/octet-stream"}
        if accept := environ.get("HTTP_X_AMZN_SAGEMAKER_ACCEPT"):
            headers["Accept"] = accept
        try:
            self._check_region(environ.get("HTTP_AUTHORIZATION", ""))
            host = self._endpoints.serving_host(unquote(asked[1]))
        except ApiError as error:
            refusal = json.dumps({"Message": error.message}).encode()
            return _answer(start_response, "400 Bad Request", {"x-amzn-errortype": error.code}, refusal)
        return self._stream(host, body, headers, start_response)

    def _check_region(self, authorization: str) -> None:
        signed = _REGION.search(authorization)
        if signed is not None and signed[1] != self._context.region:
            raise ApiError(
                "ValidationError",
                f"the local AWS is the region {self._context.region}, the request is for {signed[1]}",
            )

    def _stream(
        self, host: ModelHost, body: bytes, headers: dict[str, str], start_response: StartResponse
    ) -> Iterable[bytes]:
        try:
            stream = host.invoke_streaming(body, headers)
            if 200 <= stream.status < 300:
                return _started(stream, host, start_response)
            reply = ContainerReply(stream.status, stream.content_type, b"".join(stream.blocks))
        except (OSError, http.client.HTTPException) as error:
            reply = ContainerReply(500, "text/plain", f"the container gave no answer: {error}".encode())
        refusal = model_error(reply, host)
        return _answer(start_response, "424 Failed Dependency", refusal.headers, refusal.body)


def _started(stream: ContainerStream, host: ModelHost, start_response: StartResponse) -> Iterator[bytes]:
    headers = {
        "Content-Type": "application/vnd.amazon.eventstream",
        "X-Amzn-SageMaker-Content-Type": stream.content_type,
        "x-Amzn-Invoked-Production-Variant": host.variant_name,
    }
    start_response("200 OK", list(headers.items()))
    return _frames(stream.blocks)


def _frames(blocks: Iterable[bytes]) -> Iterator[bytes]:
    part = {
        ":message-type": "event",
        ":event-type": "PayloadPart",
        ":content-type": "application/octet-stream",
    }
    try:
        for block in blocks:
            yield event_frame(part, block)
    except (OSError, http.client.HTTPException) as error:
        code = "ModelInvocationTimeExceeded" if isinstance(error, TimeoutError) else "StreamBroken"
        problem = {"Message": f"the container broke off: {error}", "ErrorCode": code}
        broken = {
            ":message-type": "exception",
            ":exception-type": "ModelStreamError",
            ":content-type": "application/json",
        }
        yield event_frame(broken, json.dumps(problem).encode())


def _answer(
    start_response: StartResponse, status: str, headers: Mapping[str, str], body: bytes
) -> Iterable[bytes]:
    whole = {"Content-Type": "application/json", **headers, "Content-Length": str(len(body))}
    start_response(status, list(whole.items()))
    return [body]
