"""A registry on this machine that speaks the OCI distribution API, and can be told to misbehave."""

import hashlib
import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl

OCI = "application/vnd.oci.image"
DOCKER = "application/vnd.docker.distribution.manifest"
IMAGE, INDEX = f"{OCI}.manifest.v1+json", f"{OCI}.index.v1+json"
CONFIG = f"{OCI}.config.v1+json"
LAYER = {"mediaType": f"{OCI}.layer.v1.tar+gzip", "digest": "sha256:" + "1" * 64, "size": 1 << 30}


def digest_of(body: bytes) -> str:
    return f"sha256:{hashlib.sha256(body).hexdigest()}"


class OciRegistry(ThreadingHTTPServer):
    """Holds manifests by tag and digest, and blobs on a second host name, to which it redirects.

    Without credentials it hands out tokens at /token, as ECR Public and Docker Hub do; with `basic` it wants
    those. `answers` replaces the answer of a path: status, headers, body. `seen` holds host, path, and
    Authorization of every request.
    """

    daemon_threads = True

    def __init__(self, basic: str | None = None) -> None:
        self.basic = basic
        self.manifests: dict[str, tuple[str, bytes]] = {}
        self.blobs: dict[str, bytes] = {}
        self.answers: dict[str, tuple[int, dict[str, str], bytes]] = {}
        self.seen: list[tuple[str, str, str | None]] = []
        self.tags_a_page: int | None = None
        """None: it lists no tags, as some mirrors do."""
        self.token: object = {"token": "anonymous-token"}
        super().__init__(("127.0.0.1", 0), _Handler)

    def url(self, host: str = "127.0.0.1") -> str:
        return f"http://{host}:{self.server_port}"

    def add_image(self, architecture: str = "amd64", tag: str | None = None, **config: Any) -> dict[str, Any]:
        """Add an image; returns its descriptor, as an index has it."""
        content = {"os": "linux", "architecture": architecture, "rootfs": {}, **config}
        blob = json.dumps(content).encode()
        self.blobs[digest_of(blob)] = blob
        manifest = {
            "schemaVersion": 2,
            "mediaType": IMAGE,
            "config": {"mediaType": CONFIG, "digest": digest_of(blob), "size": len(blob)},
            "layers": [LAYER],
        }
        platform = {"os": "linux", "architecture": architecture}
        return {**self.add_manifest(manifest, tag), "platform": platform}

    def add_index(self, entries: list[dict[str, Any]], tag: str) -> str:
        """Add an index under `tag`; returns its own digest."""
        index = {"schemaVersion": 2, "mediaType": INDEX, "manifests": entries}
        return str(self.add_manifest(index, tag)["digest"])

    def add_manifest(self, manifest: dict[str, Any], tag: str | None = None) -> dict[str, Any]:
        body = json.dumps(manifest).encode()
        digest, kind = digest_of(body), str(manifest["mediaType"])
        for name in filter(None, (digest, tag)):
            self.manifests[name] = (kind, body)
        return {"mediaType": kind, "digest": digest, "size": len(body)}


class _Handler(BaseHTTPRequestHandler):
    server: OciRegistry

    def do_GET(self) -> None:
        registry = self.server
        authorization = self.headers["Authorization"]
        registry.seen.append((self.headers["Host"].partition(":")[0], self.path, authorization))
        if self.path in registry.answers:
            self._answer(*registry.answers[self.path])
        elif self.path.startswith("/token?"):
            self._answer(200, {}, json.dumps(registry.token).encode())
        elif self.path.startswith("/store/"):
            refused = 400 if authorization else 200  # as S3 does with a signed address
            self._answer(refused, {}, registry.blobs[self.path.removeprefix("/store/")])
        elif registry.basic is not None and authorization != f"Basic {registry.basic}":
            self._answer(401, {"WWW-Authenticate": 'Basic realm="r",service="ecr.amazonaws.com"'}, b"")
        elif registry.basic is None and authorization != "Bearer anonymous-token":
            realm = f'Bearer realm="{registry.url()}/token",service="here",scope="aws"'
            self._answer(401, {"WWW-Authenticate": realm}, b"")
        else:
            self._read(self.path)

    def _read(self, path: str) -> None:
        registry = self.server
        kind, _, name = path.removeprefix("/v2/dlc/llama/").partition("/")
        if kind == "manifests" and name in registry.manifests:
            media_type, body = registry.manifests[name]
            self._answer(200, {"Content-Type": media_type, "Docker-Content-Digest": digest_of(body)}, body)
        elif kind == "blobs" and name in registry.blobs:
            self._answer(307, {"Location": f"{registry.url('localhost')}/store/{name}"}, b"")
        elif kind == "tags" and registry.tags_a_page is not None:
            self._list_tags(name, registry.tags_a_page)
        else:
            self._answer(404, {}, b'{"errors": [{"code": "MANIFEST_UNKNOWN"}]}')

    def _list_tags(self, query: str, most: int) -> None:
        """A page of the tags, `most` at once whatever is asked for, as the specification allows."""
        last = dict(parse_qsl(query.partition("?")[2])).get("last", "")
        tags = sorted(name for name in self.server.manifests if ":" not in name and name > last)
        page = tags[:most]
        link = {"Link": f'</v2/dlc/llama/tags/list?n={most}&last={page[-1]}>; rel="next"'} if page else {}
        body = json.dumps({"name": "dlc/llama", "tags": page}).encode()
        self._answer(200, link if len(tags) > most else {}, body)

    def _answer(self, status: int, headers: dict[str, str], body: bytes) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass
