"""Replies in strict JSON, errors among them."""

import json
import logging

from starlette.responses import Response
from starlette.types import Scope

from semif_adapter.contract.errors import AdapterError, AuthenticationError, EngineError
from semif_adapter.contract.wire import WireModel
from semif_adapter.engine.computation import RequestResult
from semif_adapter.forms.decisions import DecisionForm
from semif_adapter.forms.form import Form
from semif_adapter.forms.openai_decisions.form import OpenAIDecisionsForm
from semif_adapter.forms.systemone.form import SystemOneForm

logger = logging.getLogger(__name__)

DECISIONS_PATH = "/v1/decisions"
"""The route of OpenAI's clients."""
SYSTEM_ONE_PATHS = "/v1/"
"""What the paths of the System One routes begin with."""


def form_reply(form: Form, result: RequestResult) -> Response:
    """The reply to a request of `form`. Raises EngineError as `model_reply` does."""
    with form.refusing():
        return model_reply(form.to_response(*result))


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
    """The reply that tells `error`, in the request's own form, or in that of its route."""
    refusal = error.refusal or _form_of_route(scope["path"]).refusal(error)
    reply = json_reply(refusal.status, refusal.body.model_dump(mode="json"))
    reply.headers.update(refusal.headers)
    if isinstance(error, AuthenticationError):
        reply.headers["www-authenticate"] = "Bearer"
    return reply


def _form_of_route(path: str) -> type[Form]:
    if path == DECISIONS_PATH:
        return OpenAIDecisionsForm
    return SystemOneForm if path.startswith(SYSTEM_ONE_PATHS) else DecisionForm
