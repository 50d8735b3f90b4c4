"""How asking fails: one error type for each thing that a program may do about it.

No message holds the caller's text: the adapter names path and type, and what is checked before sending is
worded by the same code. Of a server that is no adapter a few of its own words are shown.
"""

from typing import ClassVar

from semif.errors import SemifError, printable

_LONGEST_CODE = 100
"""In characters: the adapter's and AWS's are shorter."""


class DecisionError(SemifError):
    """No answer. The message is one line for people, the attributes are for programs.

    What a server said is in them, so that nothing in them steers a terminal.
    """

    retryable: ClassVar[bool] = False
    """Whether the same request may be answered a little later."""

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        code: str | None = None,
        path: str | None = None,
        retry_after_seconds: float | None = None,
    ) -> None:
        super().__init__(printable(message))
        self.status = status
        """The HTTP status that the container, or else SageMaker, answered with; None where nobody did."""
        self.code = printable(code)[:_LONGEST_CODE] if code is not None else None
        """The error's code: the adapter's (`overloaded`), or AWS's (`ThrottlingException`)."""
        self.path = printable(path) if path is not None else None
        """The place in the request that is wrong, where the adapter names one."""
        self.retry_after_seconds = retry_after_seconds
        """How long the server asks to wait, in seconds."""
        self.attempts = 0
        """How often the request was sent before this error was raised; 0 where it was refused before."""
        self.inference_id: str | None = None
        """Of the call, by which the adapter's log tells of it; None where nothing was sent."""

    @property
    def message(self) -> str:
        """What is wrong, without the number of attempts."""
        return str(self.args[0])

    def __str__(self) -> str:
        """The message, and how often it was tried where that was more than once."""
        return (
            self.message if self.attempts < 2 else f"{self.message}; given up after {self.attempts} attempts"
        )


class RequestRefusedError(DecisionError):
    """The request, or whom it was sent to, is wrong: the same one fails again (400, 404, 413, 415, 422)."""


class NoEndpointError(RequestRefusedError):
    """SageMaker has no endpoint of that name in service, so that every request to it fails."""


class AccessError(DecisionError):
    """The credentials or the API key are missing, expired, or not allowed to ask."""


class OverloadedError(DecisionError):
    """The container has no room now (503, 429): more instances, or fewer requests at once."""

    retryable = True


class ThrottledError(DecisionError):
    """SageMaker's own limit on requests was met, before any container."""

    retryable = True


class UnavailableError(DecisionError):
    """No container is there to answer: it starts, a proxy finds none, or SageMaker itself has failed."""

    retryable = True


class UnreachableError(DecisionError):
    """The connection could not be made, or broke off before the whole reply."""

    retryable = True


class AnswerTimeoutError(DecisionError):
    """The answer did not come in the time that SageMaker gives one. It is not asked again: it would be slow
    again, and the container may still be computing it."""


class ContainerFaultError(DecisionError):
    """The container could not give an honest answer (500), or has a defect."""


class ClosedClientError(DecisionError):
    """The client was closed, or has asked in another process, whose connections it holds."""


class UnknownReplyError(DecisionError):
    """The reply is not one of this version's: another version's adapter, or no adapter at all."""
