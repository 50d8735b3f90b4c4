"""The adapter's errors in the shape that OpenAI's clients read."""

import math

from semif_adapter.contract.errors import (
    AdapterError,
    AuthenticationError,
    OverloadedError,
    Refusal,
)
from semif_adapter.forms.openai_decisions.types import OpenAIErrorBody

OVERLOADED_STATUS = 429
"""What OpenAI's SDKs retry, as they do 408, 409 and 5xx, with the waiting time of `retry-after-ms` or
`retry-after` (read in `openai` 3.57.0, _base_client.py)."""


def refusal(error: AdapterError, *, behind_sagemaker: bool) -> Refusal:
    """How a client of the Decisions API is told about `error`.

    SageMaker takes 503 for overload, and no header reaches its caller: the message holds the hint too.
    """
    status, message, headers = error.status, error.message, {}
    if isinstance(error, OverloadedError):
        seconds = error.retry_after_seconds
        status = status if behind_sagemaker else OVERLOADED_STATUS
        message = f"{message}; try again in {seconds:g} s"
        headers = {"retry-after": str(math.ceil(seconds)), "retry-after-ms": str(math.ceil(seconds * 1000))}
    body = OpenAIErrorBody.OpenAIError(
        message=message, type=_error_type(error), param=error.path, code=error.code
    )
    return Refusal(status, OpenAIErrorBody(error=body), headers)


def _error_type(error: AdapterError) -> str:
    match error:
        case AuthenticationError():
            return "authentication_error"
        case OverloadedError():
            return "rate_limit_error"
        case _ if error.status >= 500:
            return "server_error"
        case _:
            return "invalid_request_error"
