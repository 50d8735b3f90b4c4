"""The adapter as a process of its own, started as SageMaker starts it."""

import http.client
import json
import os
import subprocess
import sys
from typing import Any

from tests.support.servers.serving import free_port

Document = dict[str, Any]


class Adapter:
    """One adapter process on a free port of 127.0.0.1."""

    def __init__(self, command: list[str], **variables: str) -> None:
        self.port = free_port()
        kept = {name: value for name, value in os.environ.items() if not name.startswith("SEMIF_")}
        self.process = subprocess.Popen(
            [sys.executable, *command],
            env=kept
            | {"SEMIF_HOST": "127.0.0.1", "SEMIF_PORT": str(self.port), "SEMIF_METRICS": "off"}
            | variables,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> "Adapter":
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.communicate()

    def request(self, method: str, path: str, document: Document | None = None) -> tuple[int, Document]:
        """Status and body; status 0 where nobody listens or the connection breaks."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        body = None if document is None else json.dumps(document)
        try:
            connection.request(method, path, body, {"content-type": "application/json"})
            response = connection.getresponse()
            return response.status, json.loads(response.read())
        except ConnectionError:
            return 0, {}
        finally:
            connection.close()

    def ask(self, document: Document) -> tuple[int, Document]:
        return self.request("POST", "/invocations", document)

    def ping(self) -> int:
        return self.request("GET", "/ping")[0]

    def metrics(self) -> str:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request("GET", "/metrics")
        text = connection.getresponse().read().decode()
        connection.close()
        return text

    def go_on(self, word: str = "") -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{word}\n")
        self.process.stdin.flush()

    def wait_for_line(self, line: str) -> None:
        assert self.process.stdout is not None
        assert self.process.stdout.readline().strip() == line

    def wait_ready(self) -> tuple[str, Document]:
        """Read the log up to the line that says it is ready; what was read, and what it says of the model."""
        assert self.process.stderr is not None
        lines = []
        for line in self.process.stderr:
            lines.append(line)
            if '"state: ready"' in line:
                model: Document = json.loads(line)["model"]
                return "".join(lines), model
        raise AssertionError("".join(lines))

    def end(self) -> tuple[int, str]:
        """Wait for the process to end by itself; its exit status and what it logged."""
        _, log = self.process.communicate(timeout=60)
        return self.process.returncode, log
