"""How many connections may be open, and which of them is closed for a new one."""

import asyncio
import resource
from typing import Protocol
from weakref import WeakKeyDictionary

from uvicorn.server import ServerState

MAX_CONNECTIONS = 2048
"""Far more than a load balancer or SageMaker keep open; idle ones take 10 KiB each, so 20 MiB together."""
RESERVED_FILES = 64
"""Libraries, the log, the event loop's own, a model that is read."""


def connection_limit() -> int:
    """How many connections may be open: as many as there are files to open, less those that others need."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return min(MAX_CONNECTIONS, max(1, soft - RESERVED_FILES))


class Connection(Protocol):
    """What is known of one here."""

    transport: asyncio.Transport


class IdleConnections:
    """Those that wait for a request, the longest first.

    In that order all the time: to look through two thousand of them for each new one would leave the event
    loop no time for a ping, where clients come again as soon as they are closed.
    """

    def __init__(self) -> None:
        self._waiting: dict[Connection, None] = {}

    def add(self, connection: Connection) -> None:
        """It waits from now on."""
        self._waiting[connection] = None

    def discard(self, connection: Connection) -> None:
        """It waits no longer, or is gone."""
        self._waiting.pop(connection, None)

    def close_longest(self, *, or_else: Connection) -> None:
        """Close the one that has waited longest, `or_else` where none does."""
        while self._waiting:
            longest = next(iter(self._waiting))
            self.discard(longest)
            if not longest.transport.is_closing():
                longest.transport.close()
                return
        or_else.transport.close()


_OF_SERVERS: WeakKeyDictionary[ServerState, IdleConnections] = WeakKeyDictionary()


def idle_connections(server: ServerState) -> IdleConnections:
    """Those of one server."""
    return _OF_SERVERS.setdefault(server, IdleConnections())
