"""One model host: fetches the model archive, unpacks it, runs the adapter and asks it until it is ready."""

import gzip
import http.client
import importlib.util
import secrets
import shutil
import socket
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlparse

from botocore.exceptions import BotoCoreError, ClientError

from local_aws.context import HOST, Context
from local_aws.logs import LogStream
from local_aws.processes import base_environment
from semif_adapter.settings import Settings

DEFAULT_STARTUP_SECONDS = 600
PING_SECONDS = 2
"""SageMaker's limit for one answer to `GET /ping`."""
INVOKE_SECONDS = 60
"""SageMaker's limit for one answer to `POST /invocations`."""
_DELETED = "the endpoint was deleted while it was starting"


class HostingError(Exception):
    """The container cannot be started; the message becomes the endpoint's FailureReason."""


@dataclass(frozen=True)
class ContainerReply:
    """What the container answered to `POST /invocations`."""

    status: int
    content_type: str
    body: bytes


class ModelHost:
    """The one instance behind an endpoint. `start` and `stop` may be called from different threads."""

    def __init__(
        self, context: Context, endpoint: str, variant: dict[str, Any], container: dict[str, Any]
    ) -> None:
        self._context = context
        self._variant = variant
        self._container = container
        self._folder = Path(tempfile.mkdtemp(prefix=f"{endpoint}-", dir=context.workspace))
        self._log = LogStream(
            context.logs,
            f"/aws/sagemaker/Endpoints/{endpoint}",
            f"{variant['VariantName']}/i-{secrets.token_hex(9)[:17]}",
        )
        self._process: subprocess.Popen[bytes] | None = None
        self._readers: list[threading.Thread] = []
        self._last_error_line = ""
        self._port = 0
        self._stopped = threading.Event()
        self._starting = threading.Lock()

    @property
    def variant_name(self) -> str:
        """The production variant that answers."""
        return str(self._variant["VariantName"])

    @property
    def log_stream_arn(self) -> str:
        """The log group of the container's lines, as ModelError names it."""
        return self._context.arn("logs", f"log-group:{self._log.group}")

    def start(self) -> None:
        """Return when `GET /ping` answers 200; raises HostingError otherwise, with nothing left running."""
        try:
            self._unpack(self._fetch())
            self._run_adapter()
            self._wait_until_ready()
        except HostingError:
            self.stop()
            raise
        except Exception as error:
            self.stop()
            raise HostingError(
                f"the container could not be started: {type(error).__name__}: {error}"
            ) from error

    def stop(self) -> None:
        """End the adapter and remove its files; a second call does nothing."""
        with self._starting:
            if self._stopped.is_set():
                return
            self._stopped.set()
        if self._process is not None:
            self._context.processes.stop(self._process)
        for reader in self._readers:
            reader.join()
        self._log.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def on_exit(self, report: Callable[[str], None]) -> None:
        """Call `report` with a reason, once, when the adapter ends without having been stopped."""
        process = self._process
        assert process is not None, "only a started host can end"

        def watch() -> None:
            code = process.wait()
            if not self._stopped.is_set():
                report(self._ended(code))

        threading.Thread(target=watch, daemon=True).start()

    def invoke(self, body: bytes, headers: dict[str, str]) -> ContainerReply:
        """Send `POST /invocations`; raises OSError or HTTPException where no whole answer comes in 60 s."""
        connection = http.client.HTTPConnection(HOST, self._port, timeout=INVOKE_SECONDS)
        try:
            connection.request("POST", "/invocations", body=body, headers=headers)
            reply = connection.getresponse()
            content_type = reply.headers.get("Content-Type", "application/octet-stream")
            return ContainerReply(reply.status, content_type, reply.read())
        finally:
            connection.close()

    def _fetch(self) -> Path:
        url = self._container.get("ModelDataUrl")
        if not url:
            raise HostingError("the model has no ModelDataUrl; the local AWS hosts model archives only")
        parts = urlparse(url)
        archive = self._folder / "model.tar.gz"
        if parts.scheme != "s3" or not parts.path.lstrip("/"):
            raise HostingError(f"ModelDataUrl {url} is not an s3:// address of one object")
        try:
            self._context.s3.download_file(parts.netloc, parts.path.lstrip("/"), str(archive))
        except (BotoCoreError, ClientError, OSError) as error:
            raise HostingError(f"could not fetch the model data from {url}: {error}") from error
        return archive

    def _unpack(self, archive: Path) -> None:
        folder = self._model_folder
        folder.mkdir()
        try:
            with gzip.open(archive) as data, tarfile.open(fileobj=data, mode="r:") as packed:
                packed.extractall(folder, filter="data")
                while data.read(1 << 20):  # the checksum comes last, where tarfile does not look
                    pass
        except (tarfile.TarError, zlib.error, EOFError, OSError) as error:
            raise HostingError(f"the model data is not a sound model.tar.gz: {error}") from error
        archive.unlink()

    @property
    def _model_folder(self) -> Path:
        return self._folder / "model"

    def _run_adapter(self) -> None:
        self._port = _free_port()
        given = {"TMPDIR": str(self._folder), **self._container.get("Environment", {})}
        environment = base_environment() | given | self._local_settings()
        with self._starting:
            if self._stopped.is_set():
                raise HostingError(_DELETED)
            self._process = self._context.processes.start(
                [sys.executable, "-m", "semif_adapter", "serve"],
                environment=environment,
                folder=self._folder,
            )
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        self._read(self._process.stdout, is_error=False)
        self._read(self._process.stderr, is_error=True)

    def _local_settings(self) -> dict[str, str]:
        """Where the container's fixed places lie on this machine; all else is the Model's Environment."""
        places = {
            "model_dir": self._model_folder,
            "library_dir": _library_folder(),
            "host": HOST,
            "port": self._port,
        }
        return Settings.model_validate(places).to_env()

    def _read(self, pipe: IO[bytes], *, is_error: bool) -> None:
        def read() -> None:
            for raw in pipe:
                line = raw.decode(errors="replace").rstrip()
                if is_error and line:
                    self._last_error_line = line
                self._log.write(line)

        reader = threading.Thread(target=read, daemon=True)
        reader.start()
        self._readers.append(reader)

    def _wait_until_ready(self) -> None:
        assert self._process is not None
        limit = self._variant.get("ContainerStartupHealthCheckTimeoutInSeconds", DEFAULT_STARTUP_SECONDS)
        deadline = time.monotonic() + limit
        while time.monotonic() < deadline:
            if self._process.poll() is not None:
                for reader in self._readers:
                    reader.join()
                raise HostingError(self._ended(self._process.returncode))
            if self._ping():
                return
            if self._stopped.wait(0.1):
                raise HostingError(_DELETED)
        raise HostingError(
            f"the container did not pass the ping health check within {limit} s: {self._last_error_line}"
        )

    def _ended(self, status: int) -> str:
        return f"the container ended with exit status {status}: {self._last_error_line}"

    def _ping(self) -> bool:
        connection = http.client.HTTPConnection(HOST, self._port, timeout=PING_SECONDS)
        try:
            connection.request("GET", "/ping")
            return connection.getresponse().status == 200
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind((HOST, 0))
        return int(listener.getsockname()[1])


def _library_folder() -> Path:
    """The folder of the installed llama.cpp library, where the image has /opt/llama.cpp/bin."""
    found = importlib.util.find_spec("xllamacpp")
    if found is None or not found.submodule_search_locations:
        raise HostingError("the package xllamacpp is not installed; install the extra `demo`")
    return Path(found.submodule_search_locations[0])
