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
                asyncio.run_coroutine_threadsafe(_stop_when_done(), self._loop)

    def _begin(self) -> asyncio.AbstractEventLoop:
        loop = asyncio.new_event_loop()
        loop.set_default_executor(ThreadPoolExecutor(_THREADS, thread_name_prefix="semif-client"))
        # A daemon: a process may end while a request that nobody waits for hangs.
        threading.Thread(target=_serve, args=(loop, self._last), name="semif-client-io", daemon=True).start()
        # Not at the end of the process: a thread that waits would be told of a cancelled request.
        weakref.finalize(self, _stop, loop, os.getpid()).atexit = False
        return loop


def _serve(loop: asyncio.AbstractEventLoop, last: Callable[[], Awaitable[None]]) -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
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


async def _stop_when_done() -> None:
    while rest := asyncio.all_tasks() - {asyncio.current_task()}:
        await asyncio.wait(rest)
    asyncio.get_running_loop().stop()


def _stop(loop: asyncio.AbstractEventLoop, process: int) -> None:
    """Not after a fork: the loop is the parent's."""
    if os.getpid() == process and not loop.is_closed():
        loop.call_soon_threadsafe(loop.stop)
