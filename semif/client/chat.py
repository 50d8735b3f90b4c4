"""Chat completions from an endpoint of kind `text`, whose container speaks OpenAI's form of them."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from semif.aws.clients import Aws
from semif.client.transports.endpoint_transport import EndpointTransport
from semif.errors import SemifError
from semif.sagemaker.log_groups import log_group
from semif_adapter.contract.wire import MAX_BODY_BYTES

MAX_LINE_BYTES = 1_048_576
"""Longest line of a stream that is taken: an event holds a word or two."""
_SHOWN_CHARACTERS = 300


@dataclass(frozen=True)
class Completion:
    """The first choice's text, and the reply's bytes. A model that is still thinking has said nothing yet."""

    text: str
    raw: bytes


def chat_request(
    message: str,
    *,
    system: str | None = None,
    max_tokens: int | None = None,
    temperature: float | None = None,
    stream: bool = False,
) -> bytes:
    """The body that asks for a completion of `message`; what is None is left to the server.

    Raises SemifError for a body over SageMaker's limit.
    """
    turns = [{"role": "system", "content": system}] if system is not None else []
    asked: dict[str, object] = {"messages": [*turns, {"role": "user", "content": message}]}
    settings = {"max_tokens": max_tokens, "temperature": temperature, "stream": stream or None}
    body = json.dumps(asked | {key: value for key, value in settings.items() if value is not None}).encode()
    if len(body) > MAX_BODY_BYTES:
        raise SemifError(
            f"the request is {len(body)} bytes, SageMaker takes {MAX_BODY_BYTES}; shorten the message"
        )
    return body


def complete(aws: Aws, endpoint: str, body: bytes) -> Completion:
    """One chat completion. Raises the client's errors, and SemifError for a reply that holds none."""
    return read_completion(endpoint, EndpointTransport(aws.sagemaker_runtime, endpoint).send(body))


def read_completion(endpoint: str, raw: bytes) -> Completion:
    """The completion in the reply of `endpoint`. Raises SemifError where it holds none."""
    try:
        message = json.loads(raw)["choices"][0]["message"]
        return Completion(str(message.get("content") or ""), raw)
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        raise _no_completion(endpoint, raw) from None


def stream(aws: Aws, endpoint: str, body: bytes) -> Iterator[str]:
    """The completion's text piece by piece, as it comes; `body` must ask for a stream.

    Raises as `complete` does, and SemifError where the stream ends before the completion has.
    """
    blocks = EndpointTransport(aws.sagemaker_runtime, endpoint).stream(body)
    for event in _events(endpoint, blocks):
        try:
            delta = event["choices"][0]["delta"] if event["choices"] else {}
            text = delta.get("content") or ""
        except (LookupError, TypeError, AttributeError):
            raise _no_completion(endpoint, json.dumps(event).encode()) from None
        if text:
            yield str(text)


def _events(endpoint: str, blocks: Iterable[bytes]) -> Iterator[dict[str, Any]]:
    """The JSON objects of server-sent events, up to `[DONE]`; blocks end anywhere, in a character even."""
    for line in _lines(endpoint, blocks):
        if not line.startswith(b"data:"):  # an empty line, a comment
            if line.startswith(b"{"):  # no stream at all: one JSON object, an error's
                raise _no_completion(endpoint, line)
            continue
        data = line.removeprefix(b"data:").strip()
        if data == b"[DONE]":
            return
        try:
            event = json.loads(data)
        except (ValueError, RecursionError):
            raise _no_completion(endpoint, data) from None
        if not isinstance(event, dict) or "error" in event:
            raise _no_completion(endpoint, data)
        yield event
    raise SemifError(f"{endpoint} broke the stream off before the completion's end; ask again")


def _lines(endpoint: str, blocks: Iterable[bytes]) -> Iterator[bytes]:
    rest = b""
    for block in blocks:
        *whole, rest = (rest + block).split(b"\n")
        yield from whole
        if len(rest) > MAX_LINE_BYTES:
            raise SemifError(
                f"{endpoint} streams a line of more than {MAX_LINE_BYTES:,} bytes, which no event needs; "
                f"look at its log in CloudWatch, {log_group(endpoint)}"
            )
    yield rest


def _no_completion(endpoint: str, raw: bytes) -> SemifError:
    said = " ".join(raw.decode(errors="replace").split())[:_SHOWN_CHARACTERS]
    return SemifError(
        f"{endpoint} answered with no chat completion: {said or 'an empty reply'}; look at its log in "
        f"CloudWatch, {log_group(endpoint)}"
    )
