"""An event loop on a thread of its own: what both clients send on.

An attempt can then be cut off at any point (while a name is looked up, while a reply trickles in), which no
blocking socket allows; threads and event loops share one way to send and to fail; and a client works in one
event loop after another, as in a Lambda that calls `asyncio.run` for each request.
"""

import asyncio
import os
import threading
import weakref
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Any, TypeVar

Result = TypeVar("Result")

_THREADS = 4
"""For what blocks and is short: names looked up, requests signed and checked."""


class IoLoop:
    """Begins with what is first submitted; ends by `end`, or when nobody holds it any more."""

    def __init__(self, last: Callable[[], Awaitable[None]]) -> None:
        """`last` is awaited on the loop before it ends. It must not hold this object."""
        self._last = last
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ended: asyncio.Future[None]

    def submit(self, work: Callable[[], Coroutine[Any, Any, Result]]) -> "Future[Result]":
        """The outcome of `work`, which runs on the loop. Cancelling it cancels the work."""
        with self._lock:
            loop = self._loop = self._loop or self._begin()
            return asyncio.run_coroutine_threadsafe(work(), loop)

    def run(self, work: Callable[[], Coroutine[Any, Any, Result]]) -> Result:
        """What `work` returns, waited for on this thread; Ctrl-C ends the work too."""
        running = self.submit(work)
        try:
            return running.result()
        except BaseException:
            running.cancel()
            raise

    async def run_async(self, work: Callable[[], Coroutine[Any, Any, Result]]) -> Result:
        """What `work` returns, waited for on an event loop; a task that is cancelled ends the work too."""
        return await asyncio.wrap_future(self.submit(work))

    def end(self) -> None:
        """End when all that was submitted has, and wait for nothing."""
        with self._lock:
            if self._loop is not None and not self._loop.is_closed():
                asyncio.run_coroutine_threadsafe(_stop_when_done(self._ended), self._loop)

    def _begin(self) -> asyncio.AbstractEventLoop:
        loop = asyncio.new_event_loop()
        loop.set_default_executor(ThreadPoolExecutor(_THREADS, thread_name_prefix="semif-client"))
        self._ended = ended = loop.create_future()
        # A daemon: a process may end while a request that nobody waits for hangs.
        threading.Thread(
            target=_serve, args=(loop, ended, self._last), name="semif-client-io", daemon=True
        ).start()
        # Not at the end of the process: a thread that waits would be told of a cancelled request.
        weakref.finalize(self, _stop, loop, ended, os.getpid()).atexit = False
        return loop


def _serve(
    loop: asyncio.AbstractEventLoop, ended: "asyncio.Future[None]", last: Callable[[], Awaitable[None]]
) -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_until_complete(ended)
    finally:
        loop.run_until_complete(_finish(last))
        loop.close()


async def _finish(last: Callable[[], Awaitable[None]]) -> None:
    rest = asyncio.all_tasks() - {asyncio.current_task()}
    for task in rest:
        task.cancel()
    await asyncio.gather(*rest, return_exceptions=True)
    await last()
    await asyncio.get_running_loop().shutdown_asyncgens()


async def _stop_when_done(ended: "asyncio.Future[None]") -> None:
    while rest := asyncio.all_tasks() - {asyncio.current_task()}:
        await asyncio.wait(rest)
    _end_once(ended)


def _stop(loop: asyncio.AbstractEventLoop, ended: "asyncio.Future[None]", process: int) -> None:
    """Not after a fork: the loop is the parent's."""
    if os.getpid() == process:
        with suppress(RuntimeError):  # it has ended, and is closed
            loop.call_soon_threadsafe(_end_once, ended)


def _end_once(ended: "asyncio.Future[None]") -> None:
    """A client that was closed is let go too, maybe while its loop ends: `loop.stop` would cut that off."""
    if not ended.done():
        ended.set_result(None)
