"""An adapter that answers every decision with sure figures, and before that whatever it is told to."""

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.support.runs.calibration_runs import labelled

Reply = tuple[int, dict[str, str], bytes]
"""Status, headers, body."""


class ScriptedAdapter(ThreadingHTTPServer):
    """Gives each of `replies` once, then answers; `paths` holds what was asked."""

    daemon_threads = True

    def __init__(self, *replies: Reply) -> None:
        self.replies = list(replies)
        self.paths: list[str] = []
        super().__init__(("127.0.0.1", 0), _Handler)

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    server: ScriptedAdapter

    def do_GET(self) -> None:
        self._answer(b"")

    def do_POST(self) -> None:
        self._answer(self.rfile.read(int(self.headers["Content-Length"])))

    def _answer(self, body: bytes) -> None:
        self.server.paths.append(self.path)
        replies = self.server.replies
        status, headers, content = replies.pop(0) if replies else (200, {}, _result(body))
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(content))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        pass


def _result(body: bytes) -> bytes:
    decision = json.loads(body)["decision"]
    ids = [option["id"] for option in decision["options"]]
    reply = labelled(decision["id"], [1.0, *[0.0] * (len(ids) - 1)], 0).raw
    reply["result"]["option_ids"] = ids
    return json.dumps(reply).encode()
