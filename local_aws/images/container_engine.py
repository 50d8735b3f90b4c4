"""What builds images here: buildah, and a registry that stands in for ECR's.

Builds in privileged mode find a `docker` and an `aws` on their PATH (`docker_cli.py`, `aws_cli.py`) that do
with these two what the real ones would do with Docker and AWS.
"""

import os
import shlex
import shutil
import socket
import sys
import threading
import time
import urllib.request
from pathlib import Path

from local_aws.core.context import HOST, LocalContext
from local_aws.core.processes import base_environment

PROGRAMS = ("buildah", "docker-registry")
REGISTRY_VARIABLE = "LOCAL_AWS_REGISTRY"
"""Host and port of the registry, for our `docker`."""
SCRATCH_VARIABLE = "LOCAL_AWS_IMAGES"
"""A folder for its files."""
_START_SECONDS = 30.0
_STORAGE = """\
[storage]
driver = "vfs"
graphroot = "{folder}/storage"
runroot = "{folder}/run"
"""
_REGISTRY = """\
version: 0.1
log: {{level: error, accesslog: {{disabled: true}}}}
storage: {{filesystem: {{rootdirectory: "{folder}/registry"}}}}
http: {{addr: "{address}"}}
"""


def missing() -> list[str]:
    """What this machine lacks to build images; nothing, where it can."""
    lacks = [program for program in PROGRAMS if shutil.which(program) is None]
    return lacks + ([] if os.geteuid() == 0 else ["the rights of root"])


class ContainerEngine:
    """Started by the first build that needs it, ended with the local AWS."""

    def __init__(self, context: LocalContext) -> None:
        self._context = context
        self._lock = threading.Lock()
        self._registry: str | None = None

    @property
    def registry(self) -> str | None:
        """Host and port of the registry; None before the first build."""
        return self._registry

    def environment(self) -> dict[str, str]:
        """The variables of a build that makes images; the registry runs when this returns.

        Raises OSError where it does not come up.
        """
        folder = self._context.workspace / "images"
        with self._lock:
            if self._registry is None:
                folder.mkdir(exist_ok=True)
                (folder / "storage.conf").write_text(_STORAGE.format(folder=folder))
                self._provide(folder / "bin")
                self._registry = self._start_registry(folder)
        return {
            "PATH": os.pathsep.join([str(folder / "bin"), base_environment()["PATH"]]),
            "BUILDAH_ISOLATION": "chroot",
            "CONTAINERS_STORAGE_CONF": str(folder / "storage.conf"),
            REGISTRY_VARIABLE: self._registry,
            SCRATCH_VARIABLE: str(folder),
        }

    def _provide(self, folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        root = Path(__file__).parents[2]
        for name in ("aws", "docker"):
            run = shlex.join([sys.executable, "-m", f"local_aws.images.{name}_cli"])
            program = folder / name
            program.write_text(f'#!/bin/sh\nPYTHONPATH={shlex.quote(str(root))} exec {run} "$@"\n')
            program.chmod(0o755)

    def _start_registry(self, folder: Path) -> str:
        with socket.create_server((HOST, 0)) as probe:
            address = f"{HOST}:{probe.getsockname()[1]}"
        configuration = folder / "registry.yml"
        configuration.write_text(_REGISTRY.format(folder=folder, address=address))
        process = self._context.processes.start(
            ["docker-registry", "serve", str(configuration)], environment=base_environment(), folder=folder
        )
        deadline = time.monotonic() + _START_SECONDS
        while process.poll() is None and time.monotonic() < deadline:
            try:
                with urllib.request.urlopen(f"http://{address}/v2/", timeout=1):
                    return address
            except OSError:
                time.sleep(0.05)
        self._context.processes.stop(process)
        raise OSError(f"docker-registry did not come up on {address}")
