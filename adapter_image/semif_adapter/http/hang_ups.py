"""What the kernel knows of a client whose connection is not read from."""

import select
import socket

_CLOSED = getattr(select, "POLLRDHUP", 0)
"""The client closed its side, whatever of it is still unread (poll(2)); macOS tells only by reading."""


def was_reset(connection: socket.socket) -> bool:
    """Whether the client reset it: it takes no answer. True once, and then no more."""
    return connection.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) != 0


def sends_no_more(connection: socket.socket) -> bool:
    """Whether the client closed its side; it may be gone, or wait for its answers."""
    looking = select.poll()
    looking.register(connection, _CLOSED)
    return any(seen & _CLOSED for _, seen in looking.poll(0))
