"""What is different in the container of a SageMaker transform job, which sends a file line by line.

One refused line ends the whole job, and what was answered of its file is lost: Batch Transform uploads
nothing of an object that was not processed to its end (TransformOutput in the SageMaker API reference). So a
refusal that the same line would meet again is given as the line's answer, an error object with status 200.
What may pass later stays a 503, which SageMaker sends again, and what an engine that ended had not answered
becomes one. A line on which the engine fails is computed twice (scheduler.py).
"""

from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import Response

from semif_adapter.contract.errors import (
    AbandonedError,
    AdapterError,
    DrainingError,
    EngineEndedError,
    InvalidRequestError,
    OverloadedError,
    RequestTimeoutError,
)
from semif_adapter.contract.transform_parameters import JSON_LINES
from semif_adapter.http.replies import json_reply
from semif_adapter.serving.lifecycle import DRAINING_RETRY_SECONDS
from semif_adapter.serving.request_log import RECORD

Handler = Callable[[Request], Awaitable[Response]]


def only_line(body: bytes) -> bytes:
    """The one line that `body` holds, with or without its end. Raises InvalidRequestError for several."""
    line = body.removesuffix(b"\n").removesuffix(b"\r")
    if further := line.count(b"\n"):
        raise InvalidRequestError(
            f"a body of {JSON_LINES} must hold one line, got {1 + further}; send each as a request"
        )
    return line


def refusals_as_answers(handler: Handler) -> Handler:
    """`handler`, whose lasting refusals have status 200; all of them in the shape of the decision forms."""

    async def answer(request: Request) -> Response:
        try:
            return await handler(request)
        except (OverloadedError, RequestTimeoutError, AbandonedError):
            raise
        except EngineEndedError as error:
            raise DrainingError(error.message, retry_after_seconds=DRAINING_RETRY_SECONDS) from None
        except AdapterError as error:
            request.scope[RECORD].code = error.code
            return json_reply(200, error.body().model_dump(mode="json"))

    return answer
