"""Errors that carry what a client is told: the HTTP status, a stable code, a message without user text."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from semif_adapter.contract.wire import ErrorBody, WireModel

NO_MEMORY_RETRY_SECONDS = 5.0
Location = tuple[str | int, ...]
"""Keys and array indices from a request's top to a place in it; a caller's own key as its position, `#2`."""


class Problem(NamedTuple):
    """One thing wrong with a request: where, what (it follows the place's name), a code for programs."""

    location: Location
    message: str
    type: str


class Refusal(NamedTuple):
    """How a client is told about an error."""

    status: int
    body: "WireModel"
    headers: dict[str, str]


class AdapterError(Exception):
    """A failure that a client is told about. The message names path and type, never the caller's text."""

    status: int
    code: str
    refusal: Refusal | None = None
    """In the request's own form, where its body has shown which that is; otherwise the route decides."""

    def __init__(self, message: str, *, path: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.path = path

    def body(self) -> "ErrorBody":
        """The reply's body."""
        return _body(self)


class InvalidRequestError(AdapterError):
    """The request's content is wrong; the same request will fail again.

    `problems` says it once more, one by one, where several things were found.
    """

    status = 400
    code = "invalid_request"

    def __init__(self, message: str, *, path: str | None = None, problems: Sequence[Problem] = ()) -> None:
        super().__init__(message, path=path)
        self.problems = tuple(problems)


class PromptTooLongError(AdapterError):
    """The rendered prompt does not fit; nothing is ever cut."""

    status = 400
    code = "prompt_too_long"


class AuthenticationError(AdapterError):
    """No key, or not the right one."""

    status = 401
    code = "authentication_error"


class NotFoundError(AdapterError):
    """No such path."""

    status = 404
    code = "not_found"


class ModelNotFoundError(AdapterError):
    """The request names a model that is not this one."""

    status = 404
    code = "model_not_found"


class MethodNotAllowedError(AdapterError):
    """The path exists, but not with this method."""

    status = 405
    code = "method_not_allowed"


class RequestTimeoutError(AdapterError):
    """The request did not arrive in time."""

    status = 408
    code = "request_timeout"


class HeadTooLargeError(AdapterError):
    """More bytes of request line and headers than allowed."""

    status = 431
    code = "head_too_large"


class BodyTooLargeError(AdapterError):
    """More bytes than the body limit."""

    status = 413
    code = "body_too_large"


class UnsupportedMediaTypeError(AdapterError):
    """Not JSON."""

    status = 415
    code = "unsupported_media_type"


class OverloadedError(AdapterError):
    """No room now; the same request may pass later."""

    status = 503
    code = "overloaded"

    def __init__(self, message: str, *, retry_after_seconds: float) -> None:
        super().__init__(message)
        self.retry_after_seconds = retry_after_seconds

    def body(self) -> "ErrorBody":
        """The reply's body, with the hint that SageMaker would lose as a header."""
        return _body(self, retry_after_seconds=self.retry_after_seconds)


class NoMemoryError(OverloadedError):
    """There is no memory for the request now; others give theirs back."""

    def __init__(self) -> None:
        super().__init__(
            "there is no memory for the request now", retry_after_seconds=NO_MEMORY_RETRY_SECONDS
        )


class DeadlineError(OverloadedError):
    """The request was admitted, but its time ran out before its answer."""

    code = "deadline"


class StalledError(OverloadedError):
    """The engine has not finished a step for longer than any may take."""

    code = "stalled"


class LoadingError(OverloadedError):
    """The model is still being loaded."""

    code = "loading"


class DrainingError(OverloadedError):
    """The server is stopping: it finishes what it admitted and takes nothing new."""

    code = "draining"


class AbandonedError(AdapterError):
    """Nobody waits for this answer any more; told to nobody, counted as 499 (client closed request)."""

    status = 499
    code = "abandoned"


class EngineError(AdapterError):
    """The engine could not give an honest answer (a failed decode, NaN, no mass on any option)."""

    status = 500
    code = "engine_error"


class EngineEndedError(EngineError):
    """The engine ended before the request had its answer, which may be no fault of the request."""

    def __init__(self) -> None:
        super().__init__("the engine failed, the server is ending")


class StartupError(Exception):
    """The adapter cannot start. The message is one line that says what to change."""


class NoThreadError(StartupError):
    """The system lets the process have no more threads."""

    def __init__(self) -> None:
        super().__init__(
            "there is no room for a thread, allow the process more threads (the limit of pids, ulimit -u) or "
            "more memory (ulimit -v)"
        )


def _body(error: AdapterError, *, retry_after_seconds: float | None = None) -> "ErrorBody":
    """What a client is told of `error`; it may ask again where there is a time for that."""
    # The child processes of a start raise errors and answer nobody: pydantic would be half of their time.
    from semif_adapter.contract.wire import ErrorBody, ErrorDetail  # noqa: PLC0415

    return ErrorBody(
        error=ErrorDetail(code=error.code, message=error.message, path=error.path),
        retryable=retry_after_seconds is not None,
        retry_after_seconds=retry_after_seconds,
    )
