"""Runs the adapter as SageMaker runs a container: listen at once, load, serve until SIGTERM, finish, exit."""

import asyncio
import logging
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import uvicorn

from semif_adapter.app import create_app
from semif_adapter.errors import StartupError
from semif_adapter.settings import Settings
from semif_adapter.worker import ScoringEngine, Worker

logger = logging.getLogger(__name__)

DRAIN_SECONDS = 25
"""How long a stop waits for admitted requests: SageMaker kills a container 30 seconds after SIGTERM
(SageMaker AI developer guide, "Custom inference code with hosting services")."""
CLOSE_SECONDS = 3
"""How long connections may take to close after that."""
BACKLOG = 2048


def serve(settings: Settings, load: Callable[[], ScoringEngine]) -> bool:
    """Serve until SIGTERM or SIGINT, then finish what was admitted.

    Returns whether everything admitted was answered. The engine's thread may still be running.
    Raises StartupError if the port cannot be had or the model cannot be loaded.
    """
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s: %(message)s", stream=sys.stderr)
    logging.getLogger("uvicorn").setLevel(logging.WARNING)
    with listen(settings.host, settings.port) as listener:
        return asyncio.run(_serve(settings, load, listener))


def listen(host: str, port: int) -> socket.socket:
    """A listening socket; the server loads behind it.

    Raises StartupError where the address cannot be had.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family, backlog=BACKLOG)
    except OSError as error:
        raise StartupError(
            f"cannot listen on {host} port {port} ({error.strerror}), "
            "change SEMIF_HOST or SEMIF_PORT or stop what listens there"
        ) from None
    # Connections inherit it. asyncio sets it only where the socket names its protocol, and this one does not.
    # Without it a reply's body waits 40 ms for the acknowledgement of its head.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


async def _serve(settings: Settings, load: Callable[[], ScoringEngine], listener: socket.socket) -> bool:
    app = create_app(settings, load)
    worker: Worker = app.state.worker
    server = _Server(
        uvicorn.Config(
            app,
            http="httptools",  # refuses Transfer-Encoding beside Content-Length, which h11 lets pass
            loop="asyncio",
            ws="none",
            lifespan="on",
            log_config=None,
            access_log=False,  # a line per ping would bury everything else
            server_header=False,
            timeout_graceful_shutdown=CLOSE_SECONDS,
        )
    )
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        return await _until_stopped(worker, serving)
    finally:
        server.should_exit = True
        await serving


async def _until_stopped(worker: Worker, serving: "asyncio.Task[None]") -> bool:
    """Wait for a signal and drain. Returns whether everything admitted was answered in time."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    loading = asyncio.create_task(worker.wait_loaded())
    stopping = asyncio.create_task(stop.wait())
    try:
        await asyncio.wait((loading, stopping, serving), return_when=asyncio.FIRST_COMPLETED)
        if loading.done():
            loading.result()
            await asyncio.wait((stopping, serving), return_when=asyncio.FIRST_COMPLETED)
    finally:
        loading.cancel()
        stopping.cancel()
    worker.drain()
    try:
        async with asyncio.timeout(DRAIN_SECONDS):
            await worker.drained()
    except TimeoutError:
        logger.error("stopping with requests unanswered after %d seconds", DRAIN_SECONDS)
        return False
    return True


class _Server(uvicorn.Server):
    """uvicorn, but signals are handled here: its own handler closes the port at once, where a draining server
    still answers 503, and then ends the process by the signal instead of with status 0."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield
