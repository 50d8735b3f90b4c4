"""What is different in the container of a SageMaker transform job, which sends a file line by line.

One refused line ends the whole job, and what was answered of its file is lost: Batch Transform uploads
nothing of an object that was not processed to its end (TransformOutput in the SageMaker API reference). So a
refusal that the same line would meet again is given as the line's answer, an error object with status 200.
What may pass later stays a 503, which SageMaker sends again. A line on which the engine fails is asked twice
(intake.py).
"""

from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import Response

from semif_adapter.boundary import RECORD
from semif_adapter.errors import (
    AbandonedError,
    AdapterError,
    InvalidRequestError,
    OverloadedError,
    RequestTimeoutError,
)
from semif_adapter.replies import json_reply
from semif_adapter.settings import Settings

JSON_LINES = "application/jsonlines"
"""The media type of a file of JSON Lines, and so of each line that a job sends."""

MAX_JOB_PAYLOAD_MB = 100
"""Most of MaxConcurrentTransforms times MaxPayloadInMB (CreateTransformJob in SageMaker's API reference)."""
MB = 1_000_000
"""The smaller of the two megabytes: SageMaker does not say which one it means."""
ALONE, TOGETHER = 4, 16
"""Lines at once: enough to read the next ones while the engine works on one, or to fill shared passes."""

Endpoint = Callable[[Request], Awaitable[Response]]


def execution_parameters(settings: Settings) -> dict[str, int | str]:
    """How a job should send its lines, as `GET /execution-parameters` tells SageMaker.

    MaxPayloadInMB holds the largest body; MaxConcurrentTransforms never exceeds the places for requests.
    """
    payload_mb = -(-settings.max_body_bytes // MB)
    shares_passes = settings.mode == "batched" or (settings.mode == "auto" and settings.gpu_layers != 0)
    at_once = min(
        TOGETHER if shares_passes else ALONE, settings.max_in_flight, MAX_JOB_PAYLOAD_MB // payload_mb
    )
    return {
        "MaxConcurrentTransforms": at_once,
        "BatchStrategy": "SINGLE_RECORD",
        "MaxPayloadInMB": payload_mb,
    }


def only_line(body: bytes) -> bytes:
    """The one line that `body` holds, with or without its end. Raises InvalidRequestError for several."""
    line = body.removesuffix(b"\n").removesuffix(b"\r")
    if further := line.count(b"\n"):
        raise InvalidRequestError(
            f"a body of {JSON_LINES} must hold one line, got {1 + further}; send each as a request"
        )
    return line


def refusals_as_answers(endpoint: Endpoint) -> Endpoint:
    """`endpoint`, whose lasting refusals have status 200; all of them in the shape of the decision forms."""

    async def answer(request: Request) -> Response:
        try:
            return await endpoint(request)
        except (OverloadedError, RequestTimeoutError, AbandonedError):
            raise
        except AdapterError as error:
            request.scope[RECORD].code = error.code
            return json_reply(200, error.body().model_dump(mode="json", exclude_none=True))

    return answer
