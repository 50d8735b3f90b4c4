"""Requests by their bytes, and all that comes back, for what no client library sends."""

import socket
import struct

PING = b"GET /ping HTTP/1.1\r\nHost: a\r\n\r\n"
LAST_PING = b"GET /ping HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
CHUNKED = (
    b"POST /invocations HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n"
)


def received(connection: socket.socket) -> bytes:
    """All that comes until the server closes, but interim responses."""
    data = b""
    while chunk := connection.recv(65_536):
        data += chunk
    return data.replace(b"HTTP/1.1 100 Continue\r\n\r\n", b"")


def reset(connection: socket.socket) -> None:
    """Leave at once, with a reset."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()
