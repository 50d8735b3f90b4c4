"""The page's application: its files and the prompt view, on the adapter's own origin and in front of it."""

import asyncio
from pathlib import Path
from time import monotonic

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from semif.serve.own_names import by_own_names_only
from semif.serve.ui.prompt_view import prompt_view
from semif_adapter.contract.errors import AdapterError, RequestTimeoutError
from semif_adapter.contract.settings import Settings
from semif_adapter.http.replies import error_reply
from semif_adapter.http.routes.media_type import check_media_type
from semif_adapter.serving.intake import read_body
from semif_adapter.serving.request_queue import RequestQueue

STATIC = Path(__file__).parent / "static"
PREFIX = "/ui/"
HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
}
"""Of every reply of the page: nothing but its own files runs, and nothing outside is asked."""


class WithPage:
    """The adapter's application with the page in front of it, both by this machine's own names only."""

    def __init__(self, adapter: Starlette, settings: Settings) -> None:
        page = _page(adapter.state.queue, settings)

        async def either(scope: Scope, receive: Receive, send: Send) -> None:
            is_page = scope["type"] == "http" and (scope["path"] == "/" or scope["path"].startswith(PREFIX))
            await (page if is_page else adapter)(scope, receive, send)

        self._app = by_own_names_only(either, settings.host)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)


def _page(queue: RequestQueue, settings: Settings) -> ASGIApp:
    async def show_prompt(request: Request) -> Response:
        check_media_type(request)
        arrived = monotonic()
        try:
            async with asyncio.timeout(settings.body_seconds):
                body = await read_body(request, settings.max_body_bytes)
        except TimeoutError:
            raise RequestTimeoutError(f"the body did not arrive within {settings.body_seconds:g} s") from None
        with queue.admit(arrived):
            view = await run_in_threadpool(prompt_view, body, queue.engine, settings)
        return Response(view.model_dump_json(), media_type="application/json")

    async def refuse(request: Request, error: Exception) -> Response:
        assert isinstance(error, AdapterError)
        return error_reply(error, request.scope)

    def file(path: Path) -> Route:
        async def show(_: Request) -> Response:
            return FileResponse(path)

        return Route("/" if path.name == "page.html" else PREFIX + path.name, show, methods=["GET"])

    app = Starlette(
        routes=[
            *map(file, sorted(STATIC.iterdir())),
            Route(f"{PREFIX}prompt", show_prompt, methods=["POST"]),
        ],
        exception_handlers={AdapterError: refuse},
    )

    async def with_headers(scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] += [(name.encode(), value.encode()) for name, value in HEADERS.items()]
            await send(message)

        await app(scope, receive, send_with_headers)

    return with_headers
