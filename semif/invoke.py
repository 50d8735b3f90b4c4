"""Asking: one request to a SageMaker endpoint or an adapter's URL, and its reply or its error unwrapped."""

import json
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass

import urllib3
from botocore.exceptions import ClientError
from pydantic import TypeAdapter, ValidationError

from semif.aws import Aws, aws_errors
from semif.errors import SemifError, shown
from semif_adapter.contract import DecisionResponse, DecisionsResponse, ErrorBody, Result, SharedTiming
from semif_adapter.systemone.types import SystemOneResponse

MAX_BODY_BYTES = 6_291_456
"""Largest body of InvokeEndpoint (botocore's service model of sagemaker-runtime)."""

MEDIA_TYPE = "application/json"
FORMS = ("decision", "decisions", "questions", "messages")
"""What a request may be; see the wire in README.md."""
_SHOWN_CHARACTERS = 200
_JSON_NAMES = {
    list: "an array",
    str: "a string",
    int: "a number",
    float: "a number",
    bool: "true or false",
    type(None): "null",
}

Reply = DecisionResponse | DecisionsResponse | SystemOneResponse
_REPLY: TypeAdapter[Reply] = TypeAdapter(Reply)


@dataclass(frozen=True)
class Answer:
    """The results in request order, the shared timing of a `decisions` request, and the reply's bytes.

    There are no results where the request had System One's form: `raw` holds its answers.
    """

    results: tuple[Result, ...]
    timing: SharedTiming | None
    raw: bytes


class AnswerError(SemifError):
    """The container's error: its HTTP `status`, and its `body`, None where that is not the wire's."""

    def __init__(self, message: str, *, status: int, body: ErrorBody | None) -> None:
        super().__init__(message)
        self.status = status
        self.body = body


def request_body(text: bytes, *, name: str) -> bytes:
    """The request that `text` is or stands for: a lone decision object is wrapped as `{"decision": ...}`.

    The caller's bytes are kept, so that the adapter judges what was really written. `name` is for messages.
    Raises SemifError for what is not a JSON object and for bodies over SageMaker's limit.
    """
    try:
        document = json.loads(text)
    except RecursionError:
        raise SemifError(f"{name} is nested too deeply, a request needs few levels") from None
    except ValueError as error:
        raise SemifError(f"{name} is not JSON: {error}") from None
    if not isinstance(document, dict):
        raise SemifError(f"{name} holds {_JSON_NAMES[type(document)]}, a request is an object")
    body = text if any(form in document for form in FORMS) else b'{"decision": ' + text + b"}"
    if len(body) > MAX_BODY_BYTES:
        raise SemifError(f"{name} is {len(body)} bytes, SageMaker takes {MAX_BODY_BYTES}; shorten the state")
    return body


def ask_endpoint(aws: Aws, endpoint: str, body: bytes) -> Answer:
    """Ask an endpoint that decides. Raises as `invoke_endpoint` does, SemifError for a reply that is none."""
    return _answer(invoke_endpoint(aws, endpoint, body))


def invoke_endpoint(aws: Aws, endpoint: str, body: bytes) -> bytes:
    """The container's reply. Raises AnswerError for the container's errors, SemifError for all others."""
    with aws_errors():
        try:
            reply = aws.sagemaker_runtime.invoke_endpoint(
                EndpointName=endpoint, Body=body, ContentType=MEDIA_TYPE, Accept=MEDIA_TYPE
            )
            return reply["Body"].read()
        except ClientError as error:
            if (refusal := _container_error(error)) is None:
                raise
    raise refusal


def invoke_endpoint_streaming(aws: Aws, endpoint: str, body: bytes) -> Iterator[bytes]:
    """The container's reply in blocks, as they come. Raises as `invoke_endpoint`, where it breaks off too."""
    with aws_errors():
        try:
            reply = aws.sagemaker_runtime.invoke_endpoint_with_response_stream(
                EndpointName=endpoint, Body=body, ContentType=MEDIA_TYPE, Accept=MEDIA_TYPE
            )
            with closing(reply["Body"]) as events:
                for event in events:
                    yield event.get("PayloadPart", {}).get("Bytes", b"")
            return
        except ClientError as error:
            if (refusal := _container_error(error)) is None:
                raise
        except urllib3.exceptions.HTTPError as error:  # while the blocks come, botocore lets them through
            raise SemifError(f"{endpoint} {_failure(error)} while it answered; ask again") from None
    raise refusal


def _container_error(error: ClientError) -> AnswerError | None:
    """The container's own status and body, which botocore parses from ModelError to the top; None without."""
    status = error.response.get("OriginalStatusCode")
    if status is None:
        return None
    message = str(error.response.get("OriginalMessage", ""))
    return _answer_error("the container", int(str(status)), message.encode(errors="replace"))


def ask_url(url: str, body: bytes) -> Answer:
    """POST to the adapter at `url` (its base, or the whole address of `/invocations`).

    Raises AnswerError for the adapter's errors and SemifError where it cannot be reached.
    """
    check_url(url)
    target = url if url.endswith("/invocations") else url.rstrip("/") + "/invocations"
    pool = urllib3.PoolManager(timeout=urllib3.Timeout(connect=5, read=70), retries=False)
    try:
        reply = pool.request("POST", target, body=body, headers={"Content-Type": MEDIA_TYPE})
    except urllib3.exceptions.HTTPError as error:
        raise SemifError(f"{target} {_failure(error)}; is the adapter running there?") from None
    finally:
        pool.clear()
    if reply.status != 200:
        raise _answer_error(target, reply.status, reply.data)
    return _answer(reply.data)


def check_url(url: str) -> None:
    """Raise SemifError for what is no address of an adapter."""
    try:
        parts = urllib3.util.parse_url(url)
        whole = parts.scheme in {"http", "https"} and bool(parts.host)
        more = parts.query is not None or parts.fragment is not None or parts.auth is not None
    except urllib3.exceptions.LocationParseError:  # a port over 65535, a host with a space
        whole = more = False
    if not whole or more:
        raise SemifError(
            f"{shown(url)} cannot be asked: an address is http:// or https://, a host and maybe a port (1 to "
            "65535) and a path, as in http://127.0.0.1:8080"
        )


def _failure(error: urllib3.exceptions.HTTPError) -> str:
    """What happened, without urllib3's objects and error numbers."""
    match error:
        case urllib3.exceptions.NameResolutionError():
            return "cannot be reached: no such host is known"
        case _ if isinstance(error.__cause__, OSError) and error.__cause__.strerror:
            return f"cannot be reached: {error.__cause__.strerror.lower()}"
        case urllib3.exceptions.TimeoutError():
            return "took too long to answer"
        case _:
            return "broke the connection off"


def _answer(raw: bytes) -> Answer:
    try:
        reply = _REPLY.validate_json(raw)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"])) or "body"
        raise SemifError(
            f"the reply is not one of this version's: {where}: {first['msg'].lower()}; "
            "deploy the adapter of this checkout, or look at the reply with curl"
        ) from None
    match reply:
        case DecisionResponse():
            return Answer((reply.result,), None, raw)
        case DecisionsResponse():
            return Answer(reply.results, reply.timing, raw)
        case SystemOneResponse():
            return Answer((), None, raw)


def _answer_error(who: str, status: int, raw: bytes) -> AnswerError:
    try:
        body = ErrorBody.model_validate_json(raw)
    except ValidationError:
        text = " ".join(raw.decode(errors="replace").split())[:_SHOWN_CHARACTERS] or "no text"
        said = "a web page" if text.startswith("<") else text
        return AnswerError(f"{who} answered {status}: {said}", status=status, body=None)
    path = body.error.path
    at = f" at {path}" if path and path not in body.error.message else ""
    again = f"; try again in {body.retry_after_seconds:g} s" if body.retry_after_seconds is not None else ""
    line = f"{who} answered {status} {body.error.code}{at}: {body.error.message}{again}"
    return AnswerError(line, status=status, body=body)
