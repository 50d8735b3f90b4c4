"""Replies in strict JSON, errors among them."""

import json
import logging
import math

from starlette.responses import Response

from semif_adapter.contract import WireModel
from semif_adapter.errors import AdapterError, EngineError, OverloadedError

logger = logging.getLogger(__name__)


def model_reply(reply: WireModel) -> Response:
    """A successful reply. Raises EngineError where it holds NaN or an infinity."""
    try:
        return json_reply(200, reply.model_dump(mode="json"))
    except ValueError:
        logger.error("engine fault: an answer holds a number that is not finite")
        raise EngineError("the engine's answer is not finite") from None


def json_reply(status: int, value: object) -> Response:
    """A reply in strict JSON. Raises ValueError for NaN and infinities, which JSON does not have."""
    content = json.dumps(value, allow_nan=False, separators=(",", ":"))
    return Response(content, status, media_type="application/json")


def error_reply(error: AdapterError) -> Response:
    """The reply that tells `error`; the header repeats the body's hint, for clients without SageMaker."""
    reply = json_reply(error.status, error.body().model_dump(mode="json", exclude_none=True))
    if isinstance(error, OverloadedError):
        reply.headers["retry-after"] = str(math.ceil(error.retry_after_seconds))
    return reply
