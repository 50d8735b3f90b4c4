"""What a stack tells of itself: its status and its events, in moto's records."""

from contextvars import ContextVar
from datetime import timedelta

from moto.cloudformation.models import Event, Stack

request_token: ContextVar[str | None] = ContextVar("request_token", default=None)
"""The ClientRequestToken of the request that is being answered."""

_tokens: dict[str, str | None] = {}
"""That of each stack's last operation, by the stack's id: all its events carry it."""


class StackFailedError(Exception):
    """A resource failed and its event has been told; the message names the resource."""


def begin(stack: Stack, status: str) -> None:
    """Change the stack's status as the request that is being answered asks for, and tell it so."""
    _tokens[stack.stack_id] = request_token.get()
    move(stack, status, "User Initiated")


def move(stack: Stack, status: str, reason: str = "") -> None:
    """Change the stack's status and tell it as an event."""
    tell(stack, stack.name, stack.stack_id, "AWS::CloudFormation::Stack", status, reason=reason)
    stack.status = status


def tell(stack: Stack, name: str, physical_id: str, kind: str, status: str, *, reason: str = "") -> None:
    """Add an event of the resource `name`, or of the stack itself."""
    event = Event(stack.stack_id, stack.name, name, physical_id, kind, status, reason or None, None)
    event.client_request_token = _tokens.get(stack.stack_id)  # type: ignore[assignment]  # moto has None
    if stack.events:  # readers sort by time, which is told in milliseconds
        event.timestamp = max(event.timestamp, stack.events[-1].timestamp + timedelta(milliseconds=1))
    stack.events.append(event)


def reason_of(error: Exception) -> str:
    """What people read in the stack's events; an error without a text is told by its type."""
    text = str(error)
    return text if text and not isinstance(error, KeyError) else f"{type(error).__name__}: {text}"
