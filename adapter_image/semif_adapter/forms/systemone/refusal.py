"""The adapter's errors in the shape that System One's clients read."""

import math

from semif_adapter.contract.errors import (
    AdapterError,
    InvalidRequestError,
    OverloadedError,
    PromptTooLongError,
    Refusal,
)
from semif_adapter.forms.systemone.types import FaultBody, InvalidField, InvalidRequestBody

OVERLOADED_STATUS = 429
"""What the official SDK retries, with the waiting time of `retry-after-ms` or `retry-after`."""


def refusal(error: AdapterError, *, behind_sagemaker: bool) -> Refusal:
    """How a client of System One is told about `error`.

    SageMaker takes 503 for overload, and no header reaches its caller: the message holds the hint too.
    """
    if isinstance(error, InvalidRequestError | PromptTooLongError):
        return Refusal(422, InvalidRequestBody(detail=_fields(error)), {})
    if isinstance(error, OverloadedError):
        seconds = error.retry_after_seconds
        status = error.status if behind_sagemaker else OVERLOADED_STATUS
        message = f"{error.message}; try again in {seconds:g} s"
        headers = {"retry-after": str(math.ceil(seconds)), "retry-after-ms": str(math.ceil(seconds * 1000))}
        return Refusal(status, _fault(error, message), headers)
    return Refusal(error.status, _fault(error, error.message), {})


def _fault(error: AdapterError, message: str) -> FaultBody:
    return FaultBody(detail=FaultBody.Fault(error_type=error.code, message=message))


def _fields(error: InvalidRequestError | PromptTooLongError) -> tuple[InvalidField, ...]:
    if isinstance(error, InvalidRequestError) and error.problems:
        return tuple(
            InvalidField(loc=("body", *problem.location), msg=problem.message, type=problem.type)
            for problem in error.problems
        )
    # The engine's: it names a question by its path, whose steps are our own keys and positions.
    steps = error.path.split(".") if error.path else []
    return (InvalidField(loc=("body", *steps), msg=error.message, type=error.code),)
