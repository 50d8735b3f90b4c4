"""A server that speaks like the API of Hugging Face's hub, and gives the beginnings of its files."""

import contextlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote

COMMIT, LATER = "4" * 40, "5" * 40
SHA256 = "a" * 64
FILE = "Some_Model-Q4_K_M.gguf"


def lfs(name: str, size: int = 3_013_027_808, sha256: str = SHA256) -> dict[str, Any]:
    return {"rfilename": name, "size": size, "lfs": {"sha256": sha256, "size": size, "pointerSize": 135}}


class HubApi(ThreadingHTTPServer):
    """One repository, `owner/repo`: what each of its revisions holds. `answer` replaces all of it."""

    daemon_threads = True

    def __init__(self, header: bytes) -> None:
        self.header = header
        """What its files begin with; nothing but zeros follows."""
        self.files = [lfs(FILE), {"rfilename": "README.md", "size": 7}]
        self.card: dict[str, Any] | None = {"license": "apache-2.0"}
        self.commits = {"main": COMMIT, "refs/pr/1": LATER, COMMIT: COMMIT}
        self.answer: tuple[int, dict[str, str], bytes] | None = None
        self.seen: list[tuple[str, str | None]] = []
        self.trickles = False
        self.stores_elsewhere = False
        """Whether files are at another host, as the real hub has them."""
        super().__init__(("127.0.0.1", 0), _Handler)


class _Handler(BaseHTTPRequestHandler):
    server: HubApi

    def do_GET(self) -> None:
        hub = self.server
        hub.seen.append((self.path, self.headers["Authorization"]))
        status, headers, body = hub.answer or self._told()
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        if hub.trickles:
            with contextlib.suppress(ConnectionError):
                for byte in body:
                    self.wfile.write(bytes([byte]))
                    threading.Event().wait(0.01)
            return
        self.wfile.write(body)

    def _told(self) -> tuple[int, dict[str, str], bytes]:
        hub = self.server
        path, _, query = self.path.partition("?")
        if path.startswith("/owner/repo/resolve/"):
            if hub.stores_elsewhere:
                stored = f"http://localhost:{hub.server_port}/stored/{path.rpartition('/')[2]}"
                return 302, {"Location": stored}, b""
            return self._part(unquote(path.rpartition("/")[2]))
        if path.startswith("/stored/"):
            return self._part(unquote(path.rpartition("/")[2]))
        repository, _, revision = path.removeprefix("/api/models/").partition("/revision/")
        if repository != "owner/repo" or query != "blobs=true":
            return 401, {"X-Error-Code": "RepoNotFound"}, b'{"error": "Invalid username or password."}'
        if (commit := hub.commits.get(unquote(revision))) is None:
            return 404, {"X-Error-Code": "RevisionNotFound"}, b"{}"
        told = {"id": repository, "sha": commit, "siblings": hub.files, "cardData": hub.card, "tags": []}
        return 200, {"Content-Type": "application/json"}, json.dumps(told).encode()

    def _part(self, name: str) -> tuple[int, dict[str, str], bytes]:
        """The bytes of the header `Range`."""
        size = next(file["size"] for file in self.server.files if file["rfilename"] == name)
        start, end = map(int, self.headers["Range"].removeprefix("bytes=").split("-"))
        end = min(end, size - 1)
        part = self.server.header[start : end + 1].ljust(end + 1 - start, b"\0")
        return 206, {"Content-Range": f"bytes {start}-{end}/{size}"}, part

    def log_message(self, *_: object) -> None:
        pass
