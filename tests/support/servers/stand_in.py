"""A server that answers as a function says: other people's APIs, and faults that a real one rarely has."""

import json
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock
from typing import Any

Script = Callable[[int, str, Any], tuple[int, bytes]]
"""From the number of a request, its path and its body to status and reply."""


class StandIn(ThreadingHTTPServer):
    """Answers as `script` says: it gets the number of the request, the path and the body."""

    daemon_threads = True

    def __init__(self, script: Script) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.script = script
        self.seen: list[Any] = []
        self.headers: list[dict[str, str]] = []
        self.lock = Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    server: StandIn

    def do_POST(self) -> None:
        document = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with self.server.lock:
            number = len(self.server.seen)
            self.server.seen.append(document)
            self.server.headers.append(dict(self.headers))
        status, body = self.server.script(number, self.path, document)
        self.send_response(status)
        if 300 <= status < 400:  # the body is where to
            self.send_header("Location", body.decode())
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Keep quiet."""
