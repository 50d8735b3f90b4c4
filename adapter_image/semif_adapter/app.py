"""The HTTP side: the routes, each request through the same intake, errors as JSON."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from semif_adapter.boundary import RECORD, Boundary
from semif_adapter.contract import DecisionRequest, DecisionResponse, DecisionsRequest, DecisionsResponse
from semif_adapter.decisions import to_questions
from semif_adapter.errors import (
    AdapterError,
    MethodNotAllowedError,
    NotFoundError,
    UnsupportedMediaTypeError,
)
from semif_adapter.intake import Intake, Work
from semif_adapter.parse import parse_request
from semif_adapter.replies import error_reply, json_reply, model_reply
from semif_adapter.settings import Settings
from semif_adapter.telemetry import Telemetry
from semif_adapter.worker import ScoringEngine, Worker

PROMETHEUS_MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"


def create_app(settings: Settings, load: Callable[[], ScoringEngine]) -> Starlette:
    """The ASGI application. Its lifespan starts the engine's thread and, at the end, stops it.

    `load` runs on the engine's thread while `/ping` already answers 503. The worker is `app.state.worker`.
    """
    worker = Worker(load, settings)
    intake = Intake(worker, settings)
    telemetry = Telemetry(worker, settings)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        worker.start()
        reporting = asyncio.create_task(telemetry.run())
        yield
        reporting.cancel()
        telemetry.flush()
        await worker.close()

    async def ping(_: Request) -> Response:
        worker.check_ready()
        return json_reply(200, {"status": "ready"})

    async def show_metrics(_: Request) -> Response:
        return Response(telemetry.prometheus(), headers={"content-type": PROMETHEUS_MEDIA_TYPE})

    def read(body: bytes) -> Work[DecisionRequest | DecisionsRequest]:
        request = parse_request(body, max_decisions=settings.max_decisions)
        return Work(request, *to_questions(request))

    async def invocations(request: Request) -> Response:
        _check_media_type(request)
        parsed, (results, timing) = await intake.answer(request, read)
        if isinstance(parsed, DecisionRequest):
            return model_reply(DecisionResponse(result=results[0]))
        return model_reply(DecisionsResponse(results=tuple(results), timing=timing))

    routes = [
        Route("/ping", ping, methods=["GET"]),
        Route("/invocations", invocations, methods=["POST"]),
        Route("/metrics", show_metrics, methods=["GET"]),
    ]
    app = Starlette(
        routes=routes,
        middleware=[
            Middleware(Boundary, paths=frozenset(route.path for route in routes), finished=telemetry.finished)
        ],
        exception_handlers={AdapterError: _adapter_error, HTTPException: _http_error},
        lifespan=lifespan,
    )
    app.router.redirect_slashes = False
    app.state.worker = worker
    return app


def _check_media_type(request: Request) -> None:
    media_type, *parameters = request.headers.get("content-type", "").split(";")
    charsets = [parameter.strip().lower().replace('"', "") for parameter in parameters]
    if media_type.strip().lower() != "application/json" or any(
        charset != "charset=utf-8" for charset in charsets
    ):
        raise UnsupportedMediaTypeError("the content type must be application/json, in UTF-8")
    if request.headers.get("content-encoding", "identity").strip().lower() != "identity":
        raise UnsupportedMediaTypeError("a content encoding is not supported, send plain JSON")


async def _adapter_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, AdapterError)
    request.scope[RECORD].code = error.code
    return error_reply(error)


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if error.status_code == 405:
        allowed = ", ".join(sorted((error.headers or {})["Allow"].split(", ")))
        reply = await _adapter_error(
            request, MethodNotAllowedError(f"the method is not allowed here, use {allowed}")
        )
        reply.headers["Allow"] = allowed
        return reply
    return await _adapter_error(
        request, NotFoundError("no such path, use GET /ping, GET /metrics or POST /invocations")
    )
