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

from semif_adapter.contract.errors import (
    AdapterError,
    MethodNotAllowedError,
    NotFoundError,
)
from semif_adapter.contract.settings import Settings
from semif_adapter.contract.transform_parameters import JSON_LINES, execution_parameters
from semif_adapter.contract.wire import (
    DecisionRequest,
    DecisionResponse,
    DecisionsRequest,
    DecisionsResponse,
    Ready,
)
from semif_adapter.engine.scoring_engine import ScoringEngine
from semif_adapter.forms.decisions import to_questions
from semif_adapter.forms.invocations import form_of, parse_decisions, read_document
from semif_adapter.forms.systemone.answers import to_response
from semif_adapter.forms.systemone.types import SystemOneInvocation
from semif_adapter.http.authentication import check_key
from semif_adapter.http.boundary import Boundary
from semif_adapter.http.media_type import JSON, check_media_type
from semif_adapter.http.openapi import openapi
from semif_adapter.http.replies import SYSTEM_ONE, error_reply, json_reply, model_reply
from semif_adapter.http.systemone_routes import system_one_routes, system_one_work
from semif_adapter.http.transform_jobs import only_line, refusals_as_answers
from semif_adapter.serving.intake import Intake, Work
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
        queue.engine_thread.start()
        reporting = asyncio.create_task(telemetry.run())
        yield
        reporting.cancel()
        telemetry.flush()
        intake.close()
        await queue.engine_thread.close()

    async def ping(_: Request) -> Response:
        queue.check_ready()
        return model_reply(Ready())

    async def show_metrics(_: Request) -> Response:
        return Response(telemetry.prometheus(), headers={"content-type": PROMETHEUS_MEDIA_TYPE})

    document = openapi(settings)

    async def show_openapi(_: Request) -> Response:
        return Response(document, media_type="application/json")

    async def show_execution_parameters(_: Request) -> Response:
        return json_reply(200, execution_parameters(settings).told())

    async def invocations(request: Request) -> Response:
        check_key(request, settings.api_key)
        media_type = check_media_type(request, (JSON, JSON_LINES))

        def read(body: bytes) -> Work[DecisionRequest | DecisionsRequest | SystemOneInvocation]:
            document = read_document(only_line(body) if media_type == JSON_LINES else body)
            form = form_of(document)
            if form == "questions":
                request.scope[SYSTEM_ONE] = True
                return Work(*system_one_work(document, SystemOneInvocation, settings))
            parsed = parse_decisions(document, form, max_decisions=settings.max_decisions)
            return Work(parsed, *to_questions(parsed))

        parsed, (results, timing) = await intake.answer(request, read)
        match parsed:
            case DecisionRequest():
                return model_reply(DecisionResponse(result=results[0]))
            case DecisionsRequest():
                return model_reply(DecisionsResponse(results=tuple(results), timing=timing))
            case SystemOneInvocation():
                return model_reply(to_response(parsed, results, timing, settings.confidence))

    routes = [
        Route("/ping", ping, methods=["GET"]),
        Route(
            "/invocations",
            refusals_as_answers(invocations) if settings.batch else invocations,
            methods=["POST"],
        ),
        Route("/execution-parameters", show_execution_parameters, methods=["GET"]),
        Route("/metrics", show_metrics, methods=["GET"]),
        Route("/openapi.json", show_openapi, methods=["GET"]),
        *system_one_routes(settings, queue, intake),
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
