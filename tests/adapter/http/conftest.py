"""A server on a free port of 127.0.0.1, in this process, for tests over real HTTP."""

import asyncio
import http.client
import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import pytest
import uvicorn

from semif.project.root import project_root
from semif_adapter.contract.settings import Settings
from semif_adapter.engine.scoring_engine import ScoringEngine
from semif_adapter.http.app import create_app
from semif_adapter.http.protocol import BoundedProtocol
from semif_adapter.http.server import listen
from semif_adapter.serving.request_queue import RequestQueue
from tests.support.models.scripted_engine import ScriptedEngine
from tests.support.servers.adapter_process import Adapter
from tests.support.servers.waiting_engine import WAITING_ENGINE


class Gate:
    """Holds the engine in each of its answers until opened."""

    def __init__(self) -> None:
        self.entered = threading.Semaphore(0)
        self._open = threading.Event()

    def __call__(self, _: Any) -> None:
        self.entered.release()
        assert self._open.wait(30)

    def open(self) -> None:
        self._open.set()


@pytest.fixture
def gate() -> Iterator[Gate]:
    gate = Gate()
    yield gate
    gate.open()


@dataclass(frozen=True)
class Reply:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body, read as strictly as the strictest client reads."""

        def refuse(constant: str) -> None:
            raise AssertionError(f"{constant} is not JSON")

        return json.loads(self.body, parse_constant=refuse)


class HttpServer:
    """The app under uvicorn, as the container runs it, in a thread of this process."""

    def __init__(
        self,
        load: Callable[[], ScoringEngine],
        protocol: type[BoundedProtocol] = BoundedProtocol,
        **settings: Any,
    ) -> None:
        app = create_app(Settings(**{"metrics": "off", **settings}), load)
        self.queue: RequestQueue = app.state.queue
        self.engine: ScriptedEngine | None = None
        self._listener = listen("127.0.0.1", 0)
        self.port: int = self._listener.getsockname()[1]
        config = uvicorn.Config(
            app, http=protocol, ws="none", lifespan="on", log_config=None, access_log=False
        )
        self._server = uvicorn.Server(config)
        self._running = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()))

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._running.set()
        await self._server.serve(sockets=[self._listener])

    def __enter__(self) -> "HttpServer":
        self._thread.start()
        assert self._running.wait(30)
        return self

    def __exit__(self, *_: object) -> None:
        self._server.should_exit = True
        self._thread.join()
        self._listener.close()

    def wait_ready(self) -> "HttpServer":
        """Wait until the model is loaded."""
        asyncio.run_coroutine_threadsafe(self.queue.lifecycle.wait_loaded(), self._loop).result(300)
        return self

    def connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)

    def request(
        self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None
    ) -> Reply:
        """One request. `body` is bytes, or an iterable of bytes that goes out chunked."""
        connection = self.connect()
        try:
            connection.request(method, path, body, headers or {})
            response = connection.getresponse()
            return Reply(response.status, {k.lower(): v for k, v in response.getheaders()}, response.read())
        finally:
            connection.close()

    def ask(self, document: Any) -> Reply:
        """POST a document to `/invocations`; bytes are sent as they are."""
        body = document if isinstance(document, bytes) else json.dumps(document).encode()
        return self.request("POST", "/invocations", body, {"content-type": "application/json"})

    def raw(self, request: bytes) -> tuple[int, bytes]:
        """Send bytes on a connection of their own; the reply's status and body."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=30) as connection:
            connection.sendall(request)
            response = http.client.HTTPResponse(connection)
            response.begin()
            return response.status, response.read()

    @staticmethod
    def post(document: Any) -> bytes:
        """The bytes of a POST to `/invocations`."""
        body = json.dumps(document).encode()
        head = "POST /invocations HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: "
        return f"{head}{len(body)}\r\n\r\n".encode() + body

    def call_soon(self, callback: Callable[[], None]) -> None:
        """Run something on the server's event loop, as a signal handler would."""
        self._loop.call_soon_threadsafe(callback)


StartServer = Callable[..., HttpServer]


@contextmanager
def servers() -> Iterator[StartServer]:
    """Start servers that end together: `start(engine, **settings)`, ready when it returns.

    The engine is scripted, or what `load` returns.
    """
    with ExitStack() as started:

        def start(
            engine: ScriptedEngine | None = None,
            load: Callable[[], ScoringEngine] | None = None,
            **settings: Any,
        ) -> HttpServer:
            chosen = engine or ScriptedEngine()
            server = started.enter_context(HttpServer(load or (lambda: chosen), **settings)).wait_ready()
            server.engine = chosen
            return server

        yield start


@pytest.fixture
def start_server() -> Iterator[StartServer]:
    with servers() as start:
        yield start


@pytest.fixture(scope="module")
def start_module_server() -> Iterator[StartServer]:
    with servers() as start:
        yield start


@pytest.fixture
def start_loading_server() -> Iterator[Callable[[], tuple[HttpServer, Callable[[], None]]]]:
    """Start servers whose engine loads until told: `server, finish_loading = start()`."""
    with ExitStack() as started:

        def start() -> tuple[HttpServer, Callable[[], None]]:
            finish = threading.Event()

            def load() -> ScriptedEngine:
                assert finish.wait(30)
                return ScriptedEngine()

            return started.enter_context(HttpServer(load)), finish.set

        yield start


@pytest.fixture(scope="session")
def scripted() -> type[ScriptedEngine]:
    """Makes engines: `scripted(before=..., logit=...)`; `before(questions)` runs before each answer."""
    return ScriptedEngine


@pytest.fixture
def decision() -> dict[str, Any]:
    return {
        "id": "d",
        "state": "The customer wants the money back.",
        "question": "Which queue?",
        "options": [{"id": "refund", "description": "give the money back"}, {"id": "sales"}],
    }


@pytest.fixture
def start() -> Iterator[Callable[..., Adapter]]:
    """Start adapters that are gone when the test ends."""
    with ExitStack() as started:
        yield lambda *command, **variables: started.enter_context(Adapter([*command], **variables))


@pytest.fixture
def start_waiting(start: Callable[..., Adapter]) -> Callable[..., Adapter]:
    """Start an adapter whose engine is loading, until `go_on`."""

    def start_one(**variables: str) -> Adapter:
        adapter = start("-c", WAITING_ENGINE, PYTHONPATH=str(project_root()), **variables)
        adapter.wait_for_line("waiting")
        return adapter

    return start_one


@pytest.fixture
def waiting(start_waiting: Callable[..., Adapter]) -> Adapter:
    return start_waiting()
