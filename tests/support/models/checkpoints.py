"""A checkpoint of Strands Decider and its base model, of a few bytes each, and a hub that has both."""

import hashlib
import json
import shutil
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote

CHECKPOINT, BASE = "owner/Tiny_Decider", "base/Tiny-Base"
COMMIT, BASE_COMMIT = "c" * 40, "b" * 40
WINDOW = 512
"""Tokens, of the stand-in's four bytes each."""
_WEIGHTS = (".safetensors",)


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def checkpoint_files(**config: Any) -> dict[str, bytes]:
    """What the checkpoint's repository holds, its MANIFEST.sha256 too; `config` changes its configuration."""
    told = {"base_model": BASE, "base_revision": BASE_COMMIT, "max_length": WINDOW, **config}
    files = {
        "strands_decider_config.json": json.dumps(told).encode(),
        "head.safetensors": b"head",
        "lora/adapter_config.json": b"{}",
        "lora/adapter_model.safetensors": b"adapter",
        "tokenizer.json": b'{"version": "1.0"}',
        "LICENSE.md": b"Apache-2.0",
        "README.md": b"the card",
    }
    return {**files, "MANIFEST.sha256": hashes_of(files)}


def hashes_of(files: Mapping[str, bytes]) -> bytes:
    return "".join(f"{sha256(content)}  {name}\n" for name, content in sorted(files.items())).encode()


def base_files() -> dict[str, bytes]:
    return {"config.json": b"{}", "model.safetensors": b"weights" * 100, "vocab.txt": b"not needed"}


class CheckpointHub(ThreadingHTTPServer):
    """Speaks as the hub does of two repositories. What ends in `.safetensors` is in Git LFS."""

    daemon_threads = True

    def __init__(self) -> None:
        self.repositories = {CHECKPOINT: (COMMIT, checkpoint_files()), BASE: (BASE_COMMIT, base_files())}
        self.lfs_hashes: dict[str, str] = {}
        """What the hub says of files in place of their own SHA-256."""
        self.fetched: list[str] = []
        super().__init__(("127.0.0.1", 0), _Handler)


class _Handler(BaseHTTPRequestHandler):
    server: CheckpointHub

    def do_GET(self) -> None:
        status, body = self._told()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _told(self) -> tuple[int, bytes]:
        path = unquote(self.path.partition("?")[0])
        if path.startswith("/api/models/"):
            repository = path.removeprefix("/api/models/").partition("/revision/")[0]
            if repository not in self.server.repositories:
                return 401, b"{}"
            commit, files = self.server.repositories[repository]
            siblings = [self._sibling(name, content) for name, content in files.items()]
            card = {"license": "apache-2.0"}
            return 200, json.dumps({"sha": commit, "siblings": siblings, "cardData": card}).encode()
        repository, _, rest = path.removeprefix("/").partition("/resolve/")
        commit, _, name = rest.partition("/")
        found, files = self.server.repositories.get(repository, ("", {}))
        if found != commit or name not in files:
            return 404, b""
        self.server.fetched.append(name)
        return 200, files[name]

    def _sibling(self, name: str, content: bytes) -> dict[str, Any]:
        told: dict[str, Any] = {"rfilename": name, "size": len(content)}
        if name.endswith(_WEIGHTS):
            said = self.server.lfs_hashes.get(name, sha256(content))
            told["lfs"] = {"sha256": said, "size": len(content)}
        return told

    def log_message(self, *_: object) -> None:
        pass


def preset_text() -> str:
    """The preset of both, as `semif model pin-checkpoint` would write it."""
    lines = ['description = "Tiny_Decider, on base/Tiny-Base"', 'license = "apache-2.0"']
    wanted = {name: content for name, content in checkpoint_files().items() if name != "README.md"}
    weights = {name: content for name, content in base_files().items() if name != "vocab.txt"}
    for table, repository, commit, files in (
        ("checkpoint", CHECKPOINT, COMMIT, wanted),
        ("base", BASE, BASE_COMMIT, weights),
    ):
        lines += [f"[{table}]", f'repository = "{repository}"', f'revision = "{commit}"']
        for name, content in files.items():
            lines += [f"[[{table}.files]]", f'file = "{name}"', f"bytes = {len(content)}"]
            lines += [f'sha256 = "{sha256(content)}"']
    return "\n".join(lines) + "\n"


DIGEST = f"sha256:{'d' * 64}"


def decider_project(folder: Path, root: Path) -> Path:
    """A project with the presets of `root`, that of the tiny checkpoint, and a pinned container for it."""
    shutil.copytree(root / "models", folder / "models", dirs_exist_ok=True)
    (folder / "models" / "checkpoints").mkdir()
    (folder / "models" / "checkpoints" / "tiny-decider.toml").write_text(preset_text())
    images = (root / "adapter_image" / "dlc.toml").read_text()
    (folder / "adapter_image").mkdir()
    pinned = images.replace("[decider]\n", f'[decider]\ndigest = "{DIGEST}"\n')
    (folder / "adapter_image" / "dlc.toml").write_text(pinned)
    return folder


ENVIRONMENT = """
kind = "decider"
removal = "destroy"
[model]
preset = "tiny-decider"
format = "prefix"
[endpoint]
instance_type = "ml.g6.xlarge"
inference_ami_version = "al2023-ami-sagemaker-inference-gpu-4-1"
"""
