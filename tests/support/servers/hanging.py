"""A server that takes requests and never answers them: in silence, or with bytes without an end."""

import socketserver
import threading
from contextlib import AbstractContextManager
from typing import Literal

from tests.support.servers.running import running

Manner = Literal["silent", "endless head", "endless body"]
_BEGINNINGS: dict[Manner, bytes] = {
    "silent": b"",
    "endless head": b"HTTP/1.1 200 OK\r\nX-Padding: ",
    "endless body": b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n",
}


class Hanging(socketserver.ThreadingTCPServer):
    """Hangs in its manner until whoever asked closes the connection, and tells that."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, manner: Manner) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.manner = manner
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        self.arrived = threading.Semaphore(0)
        """Released once for each request of which something came."""
        self.hung_up = threading.Semaphore(0)
        """Released once for each connection that the other side closed."""


class _Handler(socketserver.BaseRequestHandler):
    server: Hanging

    def handle(self) -> None:
        asked = bytearray()
        try:
            while b"\r\n\r\n" not in asked:
                if not (piece := self.request.recv(65_536)):
                    return  # hung up before it asked
                asked += piece
            self.server.arrived.release()
            self.request.sendall(_BEGINNINGS[self.server.manner])
            self.request.settimeout(0.02)
            while self._still_there():
                if self.server.manner != "silent":
                    self.request.sendall(b"x")
        except OSError:  # reset
            pass
        self.server.hung_up.release()

    def _still_there(self) -> bool:
        try:
            return bool(self.request.recv(65_536))
        except TimeoutError:
            return True


def hanging(manner: Manner = "silent") -> AbstractContextManager[Hanging]:
    """Such a server, until the block ends."""
    return running(Hanging(manner))
