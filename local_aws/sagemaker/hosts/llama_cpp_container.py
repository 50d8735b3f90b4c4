"""Stands in for the published llama.cpp container: the same variables, the same two routes, on this machine.

What the container does is public, in aws/deep-learning-containers, scripts/docker/llama_cpp/: its entrypoint
finds the model and makes flags of `SM_LLAMA_CPP_*`, and nginx in front of llama-server maps `GET /ping` to
`/health` and `POST /invocations` to `/v1/chat/completions`. One thing differs: where llama-server ends, this
ends too, and does not answer pings with 502 until SageMaker gives up.
"""

import argparse
import http.client
import os
import sys
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlparse

PREFIX = "SM_LLAMA_CPP_"
OWN_VARIABLES = ("MODEL", "MODEL_DIR", "PORT")
"""Variables that the entrypoint reads itself."""
MODEL_FOLDER = "/opt/ml/model"
"""Where the container finds the model data; here it lies elsewhere."""
ROUTES = {"/ping": "/health", "/invocations": "/v1/chat/completions"}
UPSTREAM_SECONDS = 3600


def main() -> int:
    """Serve until a signal ends the process; returns the exit status where llama-server does not start."""
    parser = argparse.ArgumentParser(
        prog="python -m local_aws.sagemaker.hosts.llama_cpp_container", description=__doc__
    )
    parser.add_argument("--port", type=int, required=True, help="port on 127.0.0.1, in place of 8080")
    parser.add_argument("--model-folder", type=Path, required=True, help=f"in place of {MODEL_FOLDER}")
    arguments = parser.parse_args()
    from local_aws.sagemaker.hosts import llama_server  # noqa: PLC0415 - opens a library of 100 MB, which --help needs not

    front = Front(arguments.port)
    threading.Thread(target=front.serve_forever, daemon=True).start()
    try:
        flags = server_flags(os.environ, arguments.model_folder)
        server, front.upstream = llama_server.start_server(llama_server.parse_flags(flags))
    except (llama_server.FlagsError, RuntimeError) as error:
        print(f"llama-server: {error}", file=sys.stderr, flush=True)  # noqa: T201 - the container's log
        return 1
    print(f"llama-server: serving at {front.upstream}", flush=True)  # noqa: T201 - the same
    threading.Event().wait()
    del server
    return 0


def server_flags(variables: Mapping[str, str], model_folder: Path) -> list[str]:
    """llama-server's flags: the model, then every variable as the entrypoint translates it."""
    flags = _model_flags(variables, model_folder)
    for name, value in variables.items():
        if not name.startswith(PREFIX) or name.removeprefix(PREFIX) in OWN_VARIABLES:
            continue
        if value.lower() == "false":
            continue
        flags.append("--" + name.removeprefix(PREFIX).lower().replace("_", "-"))
        if value and value.lower() != "true":
            flags.append(value)
    return flags


def _model_flags(variables: Mapping[str, str], model_folder: Path) -> list[str]:
    named = variables.get(f"{PREFIX}MODEL")
    if named:
        return ["--model", named.replace(MODEL_FOLDER, str(model_folder), 1)]
    models = sorted([*model_folder.glob("*.gguf"), *model_folder.glob("*/*.gguf")])
    return ["--model", str(models[0])] if models else []


class Front(ThreadingHTTPServer):
    """nginx's part: passes requests on to llama-server at `upstream`, which is empty until it is there."""

    daemon_threads = True

    def __init__(self, port: int) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.upstream = ""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Front

    def do_GET(self) -> None:
        """Pass on a request without a body."""
        self._pass_on(None)

    def do_POST(self) -> None:
        """Pass on a request with one."""
        self._pass_on(self.rfile.read(int(self.headers.get("Content-Length", 0))))

    def _pass_on(self, body: bytes | None) -> None:
        if not self.server.upstream:
            self._answer(502, "text/plain", b"llama-server is not there yet\n")
            return
        address = urlparse(self.server.upstream)
        connection = http.client.HTTPConnection(address.netloc, timeout=UPSTREAM_SECONDS)
        headers = {name: self.headers[name] for name in ("Content-Type", "Accept") if name in self.headers}
        try:
            connection.request(self.command, ROUTES.get(self.path, self.path), body, headers)
            reply = connection.getresponse()
        except (OSError, http.client.HTTPException) as error:
            self._answer(502, "text/plain", f"llama-server does not answer: {error}\n".encode())
        else:
            self._relay(reply)
        finally:
            connection.close()

    def _relay(self, reply: http.client.HTTPResponse) -> None:
        content_type = reply.headers.get("Content-Type", "application/octet-stream")
        if reply.length is not None:
            self._answer(reply.status, content_type, reply.read())
            return
        self.send_response(reply.status)
        self.send_header("Content-Type", content_type)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        while block := reply.read1(65536):
            self.wfile.write(b"%x\r\n%b\r\n" % (len(block), block))
        self.wfile.write(b"0\r\n\r\n")

    def _answer(self, status: int, content_type: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """No line for each request: the log is llama-server's."""


if __name__ == "__main__":
    sys.exit(main())
