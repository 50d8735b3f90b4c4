"""Replies in strict JSON, errors among them."""

import json
import logging
import math

from starlette.responses import Response
from starlette.types import Scope

from semif_adapter.contract.errors import AdapterError, AuthenticationError, EngineError, OverloadedError
from semif_adapter.contract.wire import WireModel
from semif_adapter.forms.systemone.errors import fault

logger = logging.getLogger(__name__)

SYSTEM_ONE_PATHS = "/v1/"
"""What the paths of the System One routes begin with."""
SYSTEM_ONE = "semif_adapter.system_one"
"""Where the scope of another route says that its request has turned out to be of that form."""


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


def error_reply(error: AdapterError, scope: Scope) -> Response:
    """The reply that tells `error`, in the shape of the request's form.

    Headers repeat the hint of when to come back, for clients without SageMaker.
    """
    on_its_own_route = scope["path"].startswith(SYSTEM_ONE_PATHS)
    if on_its_own_route or scope.get(SYSTEM_ONE, False):
        status, body, headers = fault(error, behind_sagemaker=not on_its_own_route)
    else:
        status, body, headers = error.status, error.body(), {}
        if isinstance(error, OverloadedError):
            headers = {"retry-after": str(math.ceil(error.retry_after_seconds))}
    if isinstance(error, AuthenticationError):
        headers["www-authenticate"] = "Bearer"
    reply = json_reply(status, body.model_dump(mode="json", exclude_none=True))
    reply.headers.update(headers)
    return reply
