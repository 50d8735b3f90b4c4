"""Clients that answer without a server."""

from pathlib import Path
from typing import Any

from semif.client.async_client import AsyncDecisionClient
from semif.client.client import DecisionClient
from semif.client.retry import Retry
from semif.testing.answers import Answers, reply_to
from semif.testing.transports import AnsweringTransport, RecordingTransport, read_recording

_NOWHERE = "http://127.0.0.1:9"
_ONCE = Retry(max_attempts=1)


def fake_client(answers: Answers, *, retry: Retry = _ONCE, **settings: Any) -> DecisionClient:
    """A client whose every decision is answered with `answers`; see `semif.testing.answers`.

    An option gets 0.99 of the probability; a mapping is probabilities by option, or answers by the text of
    the question; a function is given the `Decision` of the wire; a DecisionError is raised. Requests are
    checked as ever, and nothing is sent. `retry` and `settings` are those of `DecisionClient`.
    """
    client = DecisionClient(url=_NOWHERE, retry=retry, **settings)
    client._transport = AnsweringTransport(lambda body: reply_to(body, answers))
    return client


def fake_async_client(answers: Answers, *, retry: Retry = _ONCE, **settings: Any) -> AsyncDecisionClient:
    """As `fake_client`, for an event loop."""
    client = AsyncDecisionClient(url=_NOWHERE, retry=retry, **settings)
    client._transport = AnsweringTransport(lambda body: reply_to(body, answers))
    return client


def recording_client(client: DecisionClient, path: str | Path) -> DecisionClient:
    """`client`, which from now on adds each request and its reply to `path`: your states are in that file.

    Raises SemifError where `path` cannot be written.
    """
    client._transport = RecordingTransport(client._transport, Path(path))
    return client


def replaying_client(path: str | Path) -> DecisionClient:
    """A client that answers what `path` has a reply to, and nothing else.

    What is not there raises RequestRefusedError with the code `not_recorded`. Raises SemifError for a file
    that is no recording.
    """
    client = DecisionClient(url=_NOWHERE, retry=_ONCE)
    client._transport = AnsweringTransport(read_recording(Path(path)))
    return client
