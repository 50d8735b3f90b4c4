"""One model host: brings the model data, runs the container's program and asks it until it is ready."""

import http.client
import secrets
import shutil
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from local_aws.core.context import HOST, LocalContext
from local_aws.core.logs import LogStream
from local_aws.core.processes import base_environment
from local_aws.sagemaker.hosts.errors import HostingError
from local_aws.sagemaker.hosts.model_data import place_model_data
from local_aws.sagemaker.hosts.programs import program_of

DEFAULT_STARTUP_SECONDS = 600
PING_SECONDS = 2
"""SageMaker's limit for one answer to `GET /ping`."""
INVOKE_SECONDS = 60
"""SageMaker's limit for one answer to `POST /invocations`."""
_DELETED = "the endpoint was deleted while it was starting"


@dataclass(frozen=True)
class ContainerReply:
    """What the container answered to `POST /invocations`."""

    status: int
    content_type: str
    body: bytes


@dataclass(frozen=True)
class ContainerStream:
    """A reply whose body comes in blocks, as the container sends them."""

    status: int
    content_type: str
    blocks: Iterator[bytes]
    has_length: bool
    """Whether the container said how long the body is."""


class ModelHost:
    """The one instance behind an endpoint. `start` and `stop` may be called from different threads."""

    def __init__(
        self,
        context: LocalContext,
        name: str,
        variant: dict[str, Any],
        container: dict[str, Any],
        *,
        log: tuple[str, str] | None = None,
    ) -> None:
        """`name` is the endpoint's, or that of whoever else has its lines in `log`, a group and a stream."""
        self._context = context
        self._variant = variant
        self._container = container
        self._folder = Path(tempfile.mkdtemp(prefix=f"{name}-", dir=context.workspace))
        if log is None:
            instance = f"i-{secrets.token_hex(9)[:17]}"
            log = f"/aws/sagemaker/Endpoints/{name}", f"{variant['VariantName']}/{instance}"
        self._log = LogStream(context.logs, *log)
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
            place_model_data(self._context.s3, self._container, self._model_folder)
            self._run_container()
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
        """End the program and remove its files; a second call does nothing."""
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
        """Call `report` with a reason, once, when the program ends without having been stopped."""
        process = self._process
        assert process is not None, "only a started host can end"

        def watch() -> None:
            code = process.wait()
            if not self._stopped.is_set():
                report(self._ended(code))

        threading.Thread(target=watch, daemon=True).start()

    def invoke(self, body: bytes, headers: dict[str, str]) -> ContainerReply:
        """Send `POST /invocations`; raises OSError or HTTPException where no whole answer comes in 60 s."""
        stream = self.invoke_streaming(body, headers)
        return ContainerReply(stream.status, stream.content_type, b"".join(stream.blocks))

    def invoke_streaming(
        self, body: bytes, headers: dict[str, str], *, seconds: float = INVOKE_SECONDS
    ) -> ContainerStream:
        """As `invoke` in `seconds`, without waiting for the body, whose blocks raise as that does."""
        connection = http.client.HTTPConnection(HOST, self._port, timeout=seconds)
        try:
            connection.request("POST", "/invocations", body=body, headers=headers)
            reply = connection.getresponse()
        except BaseException:
            connection.close()
            raise

        def blocks() -> Iterator[bytes]:
            try:
                while block := reply.read1(65536):
                    yield block
                if reply.length:
                    raise http.client.IncompleteRead(b"", reply.length)
            finally:
                connection.close()

        content_type = reply.headers.get("Content-Type", "application/octet-stream")
        return ContainerStream(
            reply.status, content_type, blocks(), has_length="Content-Length" in reply.headers
        )

    @property
    def _model_folder(self) -> Path:
        return self._folder / "model"

    def _run_container(self) -> None:
        self._port = _free_port()
        program = program_of(self._container, self._model_folder, self._port)
        variables = {"TMPDIR": str(self._folder), **self._container.get("Environment", {})}
        with self._starting:
            if self._stopped.is_set():
                raise HostingError(_DELETED)
            self._process = self._context.processes.start(
                program.command,
                environment=base_environment() | variables | program.variables,
                folder=self._folder,
            )
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        self._read(self._process.stdout, is_error=False)
        self._read(self._process.stderr, is_error=True)

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
