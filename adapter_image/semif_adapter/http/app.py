"""The HTTP side: the routes, each request through the same intake, errors as JSON."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import cache

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from semif_adapter.contract.errors import (
    AdapterError,
    MethodNotAllowedError,
    NotFoundError,
)
from semif_adapter.contract.settings import Settings
from semif_adapter.contract.transform_parameters import execution_parameters
from semif_adapter.contract.wire import ErrorBody, Ready
from semif_adapter.engine.scoring_engine import ScoringEngine
from semif_adapter.http.boundary import Boundary
from semif_adapter.http.replies import error_reply, json_reply, model_reply
from semif_adapter.http.routes.invocations import invocations_operation
from semif_adapter.http.routes.openapi import Operation, openapi
from semif_adapter.http.routes.v1 import v1_operations
from semif_adapter.serving.intake import Intake
from semif_adapter.serving.request_log import RECORD
from semif_adapter.serving.request_queue import RequestQueue
from semif_adapter.serving.telemetry import Telemetry

PROMETHEUS_MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"


def create_app(settings: Settings, load: Callable[[], ScoringEngine]) -> Starlette:
    """The ASGI application. Its lifespan starts the engine's thread and, at the end, stops it.

    `load` runs on the engine's thread while `/ping` already answers 503. The queue is `app.state.queue`.
    """
    queue = RequestQueue(load, settings)
    intake = Intake(queue, settings)
    telemetry = Telemetry(queue, settings)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        queue.start()
        reporting = asyncio.create_task(telemetry.run())
        yield
        reporting.cancel()
        telemetry.flush()
        await queue.close()

    async def ping(_: Request) -> Response:
        queue.check_ready()
        return model_reply(Ready())

    async def show_metrics(_: Request) -> Response:
        return Response(telemetry.prometheus(), headers={"content-type": PROMETHEUS_MEDIA_TYPE})

    @cache  # made for the first who asks: most starts have nobody who does
    def document() -> bytes:
        return openapi(operations, settings)

    async def show_openapi(_: Request) -> Response:
        # Not asyncio.to_thread, which would start a thread: there may be no room for it any more.
        made = await queue.checkers.run(0, lambda _: document(), lambda: None)
        return Response(made, media_type="application/json")

    async def show_execution_parameters(_: Request) -> Response:
        return json_reply(200, execution_parameters(settings).to_response())

    operations = [
        Operation(
            "GET",
            "/ping",
            ping,
            "Whether requests are taken",
            replies=(Ready,),
            refusals={ErrorBody: (431, 503)},
        ),
        invocations_operation(settings, intake),
        Operation(
            "GET",
            "/execution-parameters",
            show_execution_parameters,
            "How a SageMaker transform job should send its lines",
            other_reply=("application/json", "object"),
            refusals={ErrorBody: (431,)},
        ),
        *v1_operations(settings, queue, intake),
        Operation(
            "GET",
            "/metrics",
            show_metrics,
            "Figures in Prometheus' text format",
            other_reply=("text/plain", "string"),
            refusals={ErrorBody: (431,)},
        ),
        Operation(
            "GET",
            "/openapi.json",
            show_openapi,
            "This document",
            other_reply=("application/json", "object"),
            refusals={ErrorBody: (431,)},
        ),
    ]
    app = Starlette(
        routes=[Route(each.path, each.handler, methods=[each.method]) for each in operations],
        middleware=[
            Middleware(
                Boundary,
                paths=frozenset(each.path for each in operations),
                finished=telemetry.finished,
            )
        ],
        exception_handlers={AdapterError: _adapter_error, HTTPException: _http_error},
        lifespan=lifespan,
    )
    app.router.redirect_slashes = False
    app.state.queue = queue
    return app


async def _adapter_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, AdapterError)
    request.scope[RECORD].code = error.code
    return error_reply(error, request.scope)


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
        request, NotFoundError("no such path, see GET /openapi.json for those that are")
    )
