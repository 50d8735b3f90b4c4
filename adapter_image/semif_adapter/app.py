"""The HTTP side: `GET /ping` and `POST /invocations`, errors as JSON, every reply with its Content-Length."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from semif_adapter.contract import (
    Decision,
    DecisionRequest,
    DecisionResponse,
    DecisionsRequest,
    DecisionsResponse,
    Layout,
    WireModel,
)
from semif_adapter.errors import (
    AdapterError,
    BodyTooLargeError,
    EngineError,
    InvalidRequestError,
    MethodNotAllowedError,
    NotFoundError,
    UnsupportedMediaTypeError,
)
from semif_adapter.parse import parse_request
from semif_adapter.settings import Settings
from semif_adapter.worker import ScoringEngine, Worker

logger = logging.getLogger(__name__)

DISCARD_BYTES = 32 * 1024 * 1024
DISCARD_SECONDS = 5.0


def create_app(settings: Settings, load: Callable[[], ScoringEngine]) -> Starlette:
    """The ASGI application. Its lifespan starts the engine's thread and, at the end, stops it.

    `load` runs on the engine's thread while `/ping` already answers 503. The worker is `app.state.worker`.
    """
    worker = Worker(load, settings.max_in_flight)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        worker.start()
        yield
        await worker.close()

    async def ping(_: Request) -> Response:
        worker.check_ready()
        return _json(200, {"status": "ready"})

    def read(body: bytes) -> tuple[DecisionRequest | DecisionsRequest, Sequence[Decision], Layout]:
        request = parse_request(body, max_decisions=settings.max_decisions)
        decisions, layout = _work(request)
        worker.check(decisions, layout)
        return request, decisions, layout

    async def invocations(request: Request) -> Response:
        _check_media_type(request)
        with worker.admit():
            body = await _read_body(request, settings.max_body_bytes)
            # Off the event loop: a large body may take seconds, and a ping must be answered within two.
            parsed, decisions, layout = await asyncio.to_thread(read, body)
            results, timing = await worker.score(decisions, layout)
            if isinstance(parsed, DecisionRequest):
                return _reply(DecisionResponse(result=results[0]))
            return _reply(DecisionsResponse(results=tuple(results), timing=timing))

    app = Starlette(
        routes=[
            Route("/ping", ping, methods=["GET"]),
            Route("/invocations", invocations, methods=["POST"]),
        ],
        middleware=[Middleware(Boundary)],
        exception_handlers={AdapterError: _adapter_error, HTTPException: _http_error},
        lifespan=lifespan,
    )
    app.router.redirect_slashes = False
    app.state.worker = worker
    return app


class Boundary:
    """Between uvicorn and the routes: finishes request bodies, and lets no exception out.

    A client that is still sending when it is refused would see a reset connection instead of the reply, so
    what is left of the body is read and thrown away first, up to DISCARD_BYTES and for at most
    DISCARD_SECONDS.

    An exception that reached uvicorn would be logged with its message, which may hold the
    caller's text.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        finished = started = False

        async def receive_and_note() -> Message:
            nonlocal finished
            message = await receive()
            finished = message["type"] != "http.request" or not message.get("more_body", False)
            return message

        async def send_after_body(message: Message) -> None:
            nonlocal started
            if not started and not finished:
                await _discard(receive_and_note, lambda: finished)
            started = True
            await send(message)

        try:
            await self.app(scope, receive_and_note, send_after_body)
        except Exception as error:  # noqa: BLE001 - see the class's second paragraph
            logger.error("fault: %s", type(error).__name__)
            if not started:
                fault = EngineError(f"the server failed with {type(error).__name__}")
                await _error(fault)(scope, receive_and_note, send_after_body)


async def _discard(receive: Receive, finished: Callable[[], bool]) -> None:
    size = 0
    try:
        async with asyncio.timeout(DISCARD_SECONDS):
            while not finished() and size < DISCARD_BYTES:
                size += len((await receive()).get("body", b""))
    except TimeoutError:
        logger.info("gave up reading the rest of a refused body")


def _work(request: DecisionRequest | DecisionsRequest) -> tuple[Sequence[Decision], Layout]:
    """What to score, and how: the form decides the layout, never the number of questions."""
    if isinstance(request, DecisionRequest):
        return (request.decision,), "schema-first"
    return request.decisions, "state-first"


def _check_media_type(request: Request) -> None:
    media_type, *parameters = request.headers.get("content-type", "").split(";")
    charsets = [parameter.strip().lower().replace('"', "") for parameter in parameters]
    if media_type.strip().lower() != "application/json" or any(
        charset != "charset=utf-8" for charset in charsets
    ):
        raise UnsupportedMediaTypeError("the content type must be application/json, in UTF-8")
    if request.headers.get("content-encoding", "identity").strip().lower() != "identity":
        raise UnsupportedMediaTypeError("a content encoding is not supported, send plain JSON")


async def _read_body(request: Request, limit: int) -> bytes:
    """The body, at most `limit` bytes; nothing beyond is kept, whether its length was announced or not."""
    body = bytearray()
    try:
        async for chunk in request.stream():
            body += chunk
            if len(body) > limit:
                raise BodyTooLargeError(f"the body is larger than the limit of {limit} bytes")
    except ClientDisconnect:
        raise InvalidRequestError("the connection closed before the body was complete") from None
    return bytes(body)


def _reply(reply: WireModel) -> Response:
    try:
        return _json(200, reply.model_dump(mode="json"))
    except ValueError:
        logger.error("engine fault: an answer holds a number that is not finite")
        raise EngineError("the engine's answer is not finite") from None


def _json(status: int, value: object) -> Response:
    """A reply in strict JSON. Raises ValueError for NaN and infinities, which JSON does not have."""
    content = json.dumps(value, allow_nan=False, separators=(",", ":"))
    return Response(content, status, media_type="application/json")


def _error(error: AdapterError) -> Response:
    return _json(error.status, error.body().model_dump(mode="json", exclude_none=True))


async def _adapter_error(_: Request, error: Exception) -> Response:
    assert isinstance(error, AdapterError)
    return _error(error)


async def _http_error(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if error.status_code == 405:
        allowed = ", ".join(sorted((error.headers or {})["Allow"].split(", ")))
        reply = _error(MethodNotAllowedError(f"the method is not allowed here, use {allowed}"))
        reply.headers["Allow"] = allowed
        return reply
    return _error(NotFoundError("no such path, use GET /ping or POST /invocations"))
