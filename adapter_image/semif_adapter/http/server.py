"""Runs the adapter as SageMaker runs a container: listen at once, load, serve until SIGTERM, finish, exit."""

import asyncio
import faulthandler
import gc
import logging
import os
import resource
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import uvicorn
from starlette.applications import Starlette
from starlette.types import ASGIApp

from semif_adapter.contract.errors import DrainingError, StartupError
from semif_adapter.contract.settings import Settings
from semif_adapter.engine.scoring_engine import ScoringEngine
from semif_adapter.http.app import create_app
from semif_adapter.http.early_stop import EXIT_CLEAN
from semif_adapter.http.protocol import BoundedProtocol
from semif_adapter.serving import line_writer, request_log
from semif_adapter.serving.lifecycle import DRAINING_RETRY_SECONDS
from semif_adapter.serving.request_queue import RequestQueue

logger = logging.getLogger(__name__)

EXIT_ENGINE_DEAD = 70
"""EX_SOFTWARE of sysexits.h: the engine can answer nothing any more."""
EXIT_UNFINISHED = 75
"""EX_TEMPFAIL: admitted requests were given up, at the end of the grace time or by a second signal."""

CLOSE_SECONDS = 3
"""How long connections may take to close after the last answer. With the longest drain this stays below the
30 seconds after which SageMaker kills a container (SageMaker AI developer guide, "Custom inference code with
hosting services")."""
KEEP_ALIVE_SECONDS = 75
"""How long an idle connection stays open: longer than usual clients and load balancers keep one, so
that it is they who close it and no request meets a closing connection."""
BACKLOG = 128
"""Connections that wait to be accepted; where none can be, for lack of files, asyncio tries each in turn."""


def serve(
    settings: Settings,
    load: Callable[[], ScoringEngine],
    around: Callable[[Starlette], ASGIApp] = lambda app: app,
) -> int:
    """Serve until SIGTERM, SIGINT or SIGHUP, then finish what was admitted.

    A second signal ends the process at once.

    `around` may put more in front of the application; the container puts nothing there.
    Returns the exit status: EXIT_CLEAN, EXIT_UNFINISHED or EXIT_ENGINE_DEAD. The engine's thread may still be
    running. Raises StartupError if the port cannot be had or the model cannot be loaded.
    """
    # A process killed by SIGILL (a library built for a newer CPU), SIGSEGV or SIGABRT says so as it ends.
    faulthandler.enable(2, all_threads=False)  # there may be no sys.stderr
    request_log.configure(settings.log_level)
    _raise_file_limit()
    with listen(settings.host, settings.port) as listener:
        app = create_app(settings, load)
        return asyncio.run(_serve(settings, app.state.queue, around(app), listener))


def _raise_file_limit() -> None:
    """As many open files as the system lets this process have: shells and services give a part of it."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(ValueError, OSError):  # "unlimited" may be more than the kernel takes
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


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


async def _serve(settings: Settings, queue: RequestQueue, app: ASGIApp, listener: socket.socket) -> int:
    server = _Server(
        uvicorn.Config(
            app,
            http=BoundedProtocol,
            loop="asyncio",
            ws="none",
            lifespan="on",
            log_config=None,
            access_log=False,  # a line per ping would bury everything else
            server_header=False,
            timeout_keep_alive=KEEP_ALIVE_SECONDS,
            timeout_graceful_shutdown=CLOSE_SECONDS,
        )
    )
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        return await _until_stopped(settings, queue, serving)
    finally:
        server.should_exit = True
        await serving


async def _until_stopped(settings: Settings, queue: RequestQueue, serving: "asyncio.Task[None]") -> int:
    """Wait for a signal or the engine's end, and drain. Returns the exit status."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()

    def on_signal() -> None:
        if stop.is_set():
            logger.error("stopping at once, at the second signal")
            line_writer.flush()
            os._exit(EXIT_UNFINISHED)
        stop.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, on_signal)
    # Of a terminal that closes, which may send it twice. Under nohup nobody is to hear of it.
    if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
        loop.add_signal_handler(signal.SIGHUP, stop.set)
    loading = asyncio.create_task(queue.lifecycle.wait_loaded())
    stopping = asyncio.create_task(stop.wait())
    breaking = asyncio.create_task(queue.lifecycle.wait_broken())
    try:
        await asyncio.wait((loading, stopping, serving), return_when=asyncio.FIRST_COMPLETED)
        if loading.done():
            loading.result()
            # What was made so far stays. A full collection would look through all of it, now and then in the
            # middle of a request: 30 ms in which no thread runs, the one that answers pings neither.
            gc.freeze()
            await asyncio.wait((stopping, serving, breaking), return_when=asyncio.FIRST_COMPLETED)
        queue.lifecycle.drain()
        drained = asyncio.create_task(queue.wait_empty())
        await asyncio.wait(
            (drained, breaking), timeout=settings.drain_seconds, return_when=asyncio.FIRST_COMPLETED
        )
    finally:
        for task in (loading, stopping, breaking):
            task.cancel()
    if breaking.done() and not breaking.cancelled():
        return EXIT_ENGINE_DEAD
    if not drained.done():
        drained.cancel()
        logger.error("stopping with requests unanswered after %g seconds", settings.drain_seconds)
        queue.give_up(
            lambda: DrainingError("the server is stopping", retry_after_seconds=DRAINING_RETRY_SECONDS)
        )
        return EXIT_UNFINISHED
    return EXIT_CLEAN


class _Server(uvicorn.Server):
    """uvicorn, but signals are handled here: its own handler closes the port at once, where a draining server
    still answers 503, and then ends the process by the signal instead of with status 0."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield
