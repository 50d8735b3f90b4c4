"""Stands in for the published container for Strands Decider: its variables and its two routes, but no model.

What could be read on 2026-11-30 are its configuration page (aws.github.io/deep-learning-containers/
strands-decider) and the server's repository (strands-labs/strands-decider), not the container's code: that
`POST /invocations` takes the body of `POST /v1/systemone` and gives its reply is what the Strands Agents SDK
expects.
"""

import argparse
import json
import os
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from local_aws.sagemaker.hosts.decider_server import MODEL_FOLDER, Asked, CannotStartError, Server, load


def main() -> int:
    """Serve until a signal ends the process; returns the exit status where the server does not start."""
    parser = argparse.ArgumentParser(
        prog="python -m local_aws.sagemaker.hosts.decider_container", description=__doc__
    )
    parser.add_argument("--port", type=int, required=True, help="port on 127.0.0.1, in place of 8080")
    parser.add_argument("--model-folder", type=Path, required=True, help=f"in place of {MODEL_FOLDER}")
    arguments = parser.parse_args()
    try:
        server = load(os.environ, arguments.model_folder)
    except (CannotStartError, OSError, ValueError) as error:
        print(f"strands-decider: {error}", file=sys.stderr, flush=True)  # noqa: T201 - the container's log
        return 1
    print(f"strands-decider: serving {server.name}", flush=True)  # noqa: T201 - the same
    Front(arguments.port, server).serve_forever()
    return 0


class Front(ThreadingHTTPServer):
    """The HTTP side: as many requests wait as come, and none is refused for it."""

    daemon_threads = True

    def __init__(self, port: int, server: Server) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.decider = server
        self.places = threading.Semaphore(server.at_once)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Front

    def do_GET(self) -> None:
        """Ready at once: there is nothing to load."""
        if self.path in ("/ping", "/health"):
            self._reply(200, {"status": "ok", "model": self.server.decider.name})
        else:
            self._reply(404, {"detail": "Not Found"})

    def do_POST(self) -> None:
        """A System One request, on both of its routes."""
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.path not in ("/invocations", "/v1/systemone"):
            self._reply(404, {"detail": "Not Found"})
            return
        try:
            asked = Asked.model_validate_json(body)
        except ValidationError as error:
            told = json.loads(error.json(include_url=False, include_context=False))
            self._reply(422, {"detail": [{**one, "loc": ["body", *one["loc"]]} for one in told]})
            return
        with self.server.places:
            began = time.perf_counter()
            try:
                answer = self.server.decider.answer(asked)
            except ValueError as error:
                self._reply(422, {"detail": str(error)})
                return
            answer["latency_ms"] = round((time.perf_counter() - began) * 1000, 2)
        self._reply(200, answer)

    def _reply(self, status: int, body: dict[str, Any]) -> None:
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, text: str, *values: object) -> None:
        """A line for each request, as uvicorn has it, without its content."""
        print(f"INFO:     {self.client_address[0]} - {text % values}", flush=True)  # noqa: T201 - the log


if __name__ == "__main__":
    sys.exit(main())
