"""`Transport`: sends bodies, from any thread and any event loop, within the time they are given."""

import asyncio
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import urlsplit

from semif.client.errors import AnswerTimeoutError, ClosedClientError
from semif.client.sending.call_ids import NO_IDS, CallIds
from semif.client.sending.http_sender import HttpSender
from semif.client.sending.io_loop import IoLoop

MEDIA_TYPE = "application/json"
Computed = TypeVar("Computed")


@dataclass(frozen=True)
class Server:
    """Who is asked, for traces. What is not known is None."""

    endpoint: str | None = None
    """An endpoint's name."""
    host: str | None = None
    port: int | None = None

    @classmethod
    def at(cls, url: str, *, endpoint: str | None = None) -> "Server":
        """The server of `url`, an address of HTTP."""
        parts = urlsplit(url)
        return cls(endpoint, parts.hostname, parts.port or (443 if parts.scheme == "https" else 80))


class Transport(ABC):
    """Bodies go out until it is closed, and in the one process that has sent with it.

    After a fork two processes would write to one connection, and read each other's answers.
    """

    def __init__(self, sender: HttpSender, *, connections: int, attempt_seconds: float) -> None:
        """So many requests are out at once, further ones wait. Each is given up after `attempt_seconds`."""
        self.connections = connections
        self.sender = sender
        self.attempt_seconds = attempt_seconds
        self._places = asyncio.Semaphore(connections)
        self._loop = IoLoop(sender.close)
        self._closed = False
        self._process: int | None = None

    def send(self, body: bytes, seconds: float | None = None, ids: CallIds = NO_IDS) -> bytes:
        """The reply to `body`, on this thread. Raises DecisionError.

        After `seconds`, the wait for a place among them, the request is cut off with AnswerTimeoutError.
        """
        self.check_open()
        return self._loop.run(lambda: self._within(body, seconds, ids))

    def begin(self, body: bytes, seconds: float | None = None, ids: CallIds = NO_IDS) -> "Future[bytes]":
        """The reply to `body`, later. Cancelling it closes the connection. It fails as `send`."""
        self.check_open()
        return self._loop.submit(lambda: self._within(body, seconds, ids))

    async def send_async(self, body: bytes, seconds: float | None = None, ids: CallIds = NO_IDS) -> bytes:
        """As `send`, on an event loop. A task that is cancelled gives its place and its connection back."""
        self.check_open()
        return await self._loop.run_async(lambda: self._within(body, seconds, ids))

    async def in_a_thread(self, work: Callable[[], Computed]) -> Computed:
        """What `work` returns: it takes a while, and the event loop goes on."""
        self.check_open()
        return await self._loop.run_async(lambda: asyncio.to_thread(work))

    def check_open(self) -> None:
        """Raise ClosedClientError where nothing may be sent any more."""
        if self._closed:
            raise ClosedClientError("this client was closed; make another one, or close it later")
        self._process = self._process or os.getpid()
        if self._process != os.getpid():
            raise ClosedClientError(
                "this client has asked in another process, whose connections it holds; make one in each "
                "process, after the fork"
            )

    def close(self) -> None:
        """Let the connections go. What was sent is answered, nothing more is sent."""
        if not self._closed and self._process in {None, os.getpid()}:
            self._loop.end()
        self._closed = True

    @property
    @abstractmethod
    def asked(self) -> str:
        """Who is asked, for messages."""

    @property
    @abstractmethod
    def server(self) -> Server:
        """Who is asked, for traces."""

    @abstractmethod
    async def exchange(self, body: bytes, ids: CallIds) -> bytes:
        """One request of a call and its reply, for as long as it takes. Raises DecisionError."""

    async def _within(self, body: bytes, seconds: float | None, ids: CallIds) -> bytes:
        try:
            async with asyncio.timeout(seconds), self._places:
                self.check_open()
                return await self._attempt(self.exchange(body, ids))
        except TimeoutError:
            raise AnswerTimeoutError(
                f"{self.asked} gave no answer in the time that this call had (timeout=)", code="timeout"
            ) from None

    async def _attempt(self, exchange: Coroutine[Any, Any, bytes]) -> bytes:
        try:
            async with asyncio.timeout(self.attempt_seconds):
                return await exchange
        except TimeoutError:
            raise AnswerTimeoutError(
                f"{self.asked} gave no answer in time, {self.attempt_seconds:g} s; shorten the state, or "
                "ask fewer questions at once"
            ) from None
