"""Between uvicorn and the routes: bounds, ids, log and metrics of every request; no exception gets out."""

import asyncio
import logging
from collections.abc import Callable

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from semif_adapter.contract.errors import (
    AdapterError,
    DrainingError,
    EngineError,
    HeadTooLargeError,
    NoMemoryError,
)
from semif_adapter.http.protocol import MAX_HEAD_BYTES
from semif_adapter.http.replies import error_reply
from semif_adapter.serving.request_log import CUSTOM_ATTRIBUTES, RECORD, REQUEST_ID, TRACE_ID, RequestRecord

logger = logging.getLogger(__name__)

DISCARD_BYTES = 32 * 1024 * 1024
DISCARD_SECONDS = 5.0
ECHOED = (REQUEST_ID, CUSTOM_ATTRIBUTES, TRACE_ID)
"""Identifying headers that the reply repeats; SageMaker hands the custom attributes on to the caller."""
SYSTEM_ONE_REQUEST_ID = "x-typesafe-request-id"
"""The request's id once more, under the name that System One's clients read."""
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


class Boundary:
    """The outermost layer of the application.

    A client that is still sending when it is refused would see a reset connection instead of the reply, so
    what is left of the body is read and thrown away first, up to DISCARD_BYTES and for at most
    DISCARD_SECONDS.

    An exception that reached uvicorn would be logged with its message, which may hold the caller's text.
    """

    def __init__(
        self, app: ASGIApp, paths: frozenset[str], finished: Callable[[RequestRecord], None]
    ) -> None:
        """`paths` are those that the log may show; `finished` is told of every request that is over."""
        self.app = app
        self._paths = paths
        self._finished = finished

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        method, path = scope["method"], scope["path"]
        record = RequestRecord.begin(
            method if method in METHODS else "other", path if path in self._paths else "other", headers
        )
        scope[RECORD] = record
        exchange = _Exchange(record, receive, send)
        try:
            await self._answer(scope, exchange)
        finally:
            self._finished(record)

    async def _answer(self, scope: Scope, exchange: "_Exchange") -> None:
        try:
            head = sum(len(name) + len(value) for name, value in scope["headers"]) + len(
                scope.get("raw_path", b"") + scope["query_string"]
            )
            if head > MAX_HEAD_BYTES:
                raise HeadTooLargeError(
                    f"the request line and headers are over the limit of {MAX_HEAD_BYTES} bytes"
                )
            await self.app(scope, exchange.receive, exchange.send)
        except AdapterError as error:
            await exchange.fail(scope, error)
        except MemoryError:
            await exchange.fail(scope, NoMemoryError())
        except asyncio.CancelledError:
            # The server's last seconds: a client that does not read or does not send.
            await exchange.fail(scope, DrainingError("the server is stopping", retry_after_seconds=1.0))
        except Exception as error:  # noqa: BLE001 - see the class's last paragraph
            logger.error("fault: %s", type(error).__name__)
            await exchange.fail(scope, EngineError(f"the server failed with {type(error).__name__}"))


class _Exchange:
    """One request's messages in both directions."""

    def __init__(self, record: RequestRecord, receive: Receive, send: Send) -> None:
        self._record = record
        self._receive, self._send = receive, send
        self._body_over = self._started = False

    async def receive(self) -> Message:
        message = await self._receive()
        self._body_over = message["type"] != "http.request" or not message.get("more_body", False)
        return message

    async def send(self, message: Message) -> None:
        if not self._started:
            self._started = True
            self._record.status = message["status"]
            headers = MutableHeaders(scope=message)
            for name in ECHOED:
                if name in self._record.ids:
                    headers[name] = self._record.ids[name]
            headers[SYSTEM_ONE_REQUEST_ID] = self._record.ids[REQUEST_ID]
            if not self._body_over and not await self._discard():
                headers["connection"] = "close"
        await self._send(message)

    async def fail(self, scope: Scope, error: AdapterError) -> None:
        """Answer with `error` unless a reply has begun."""
        if not self._started:
            self._record.code = error.code
            await error_reply(error, scope)(scope, self.receive, self.send)

    async def _discard(self) -> bool:
        """Read what is left of the body, until the server's last seconds. Returns whether that was all."""
        size = 0
        try:
            async with asyncio.timeout(DISCARD_SECONDS):
                while not self._body_over and size < DISCARD_BYTES:
                    size += len((await self.receive()).get("body", b""))
        except (TimeoutError, asyncio.CancelledError):
            pass
        return self._body_over
