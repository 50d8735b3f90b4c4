"""A real adapter process on 127.0.0.1 for the long runs: started, watched, asked, stopped."""

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from semif.project.root import project_root
from semif.serve.local_adapter import adapter_environment

HOST = "127.0.0.1"
STOP_SECONDS = 60

JsonObject = dict[str, Any]


def decision(number: int, words: int = 12) -> JsonObject:
    """A valid request, another one for each number."""
    filler = " ".join(f"item{number}-{index}" for index in range(words))
    return {
        "decision": {
            "id": f"d{number}",
            "state": f"The customer writes: {filler}. I want my money back.",
            "question": "Which queue should handle this?",
            "options": [
                {"id": "refund", "description": "give the money back"},
                {"id": "sales", "description": "sell something"},
                {"id": "support"},
            ],
        }
    }


class Served:
    """`python -m semif_adapter serve`, ready when entered. `preset` may be a GGUF's path."""

    def __init__(
        self, preset: str, *, command: Sequence[str] = ("-m", "semif_adapter", "serve"), **variables: str
    ) -> None:
        with socket.create_server((HOST, 0)) as free:
            self.port: int = free.getsockname()[1]
        environment = adapter_environment(preset, host=HOST, port=self.port, progress=lambda *_: None)
        self._process = subprocess.Popen(
            [sys.executable, *command],
            env=environment | variables,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.log: list[str] = []
        self._reader = threading.Thread(target=self._read_log, daemon=True)
        self._reader.start()

    def _read_log(self) -> None:
        assert self._process.stderr is not None
        self.log.extend(line.rstrip("\n") for line in self._process.stderr)

    def __enter__(self) -> "Served":
        while self.status("GET", "/ping") != 200:
            if self._process.poll() is not None:
                self._reader.join()
                sys.exit(f"the adapter ended with status {self._process.returncode}: {self.log[-1:]}")
            time.sleep(0.1)
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()

    def stop(self) -> int:
        """SIGTERM; the exit status."""
        self._process.send_signal(signal.SIGTERM)
        status = self._process.wait(STOP_SECONDS)
        self._reader.join()
        return status

    @property
    def pid(self) -> int:
        """Of the adapter's process."""
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        """Whether the process still runs."""
        return self._process.poll() is None

    @property
    def resident_bytes(self) -> int:
        """Resident memory that is the process's own; pages of mapped weights come and go and do not count."""
        lines = Path(f"/proc/{self._process.pid}/status").read_text().splitlines()
        return sum(
            int(line.split()[1]) * 1024 for line in lines if line.startswith(("RssAnon:", "RssShmem:"))
        )

    def connect(self, timeout: float = 90) -> http.client.HTTPConnection:
        """A connection of one's own."""
        return http.client.HTTPConnection(HOST, self.port, timeout=timeout)

    def ask(self, document: JsonObject, timeout: float = 90) -> tuple[int, Any]:
        """POST a document to /invocations: status and body."""
        connection = self.connect(timeout)
        try:
            connection.request(
                "POST", "/invocations", json.dumps(document), {"content-type": "application/json"}
            )
            reply = connection.getresponse()
            return reply.status, json.loads(reply.read())
        finally:
            connection.close()

    def status(self, method: str, path: str) -> int:
        """The status alone; 0 where nobody answers."""
        connection = self.connect(timeout=5)
        try:
            connection.request(method, path)
            return connection.getresponse().status
        except OSError:
            return 0
        finally:
            connection.close()

    def metrics(self) -> dict[str, float]:
        """What `GET /metrics` says, by series."""
        connection = self.connect()
        try:
            connection.request("GET", "/metrics")
            lines = connection.getresponse().read().decode().splitlines()
        finally:
            connection.close()
        split = [line.rpartition(" ") for line in lines if not line.startswith("#")]
        return {series: float(value) for series, _, value in split}


def seconds_to_run() -> float:
    """SECONDS, ten minutes unless set."""
    return float(os.environ.get("SECONDS_TO_RUN", "600"))


def write_report(name: str, report: JsonObject) -> None:
    """Print a report and keep it in the project's folder."""
    path = project_root() / ".semif" / "bench" / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(report, indent=2)
    path.write_text(text + "\n")
    print(text)
    print(f"bench.robustness.{name}: written to {path}")


def machine() -> JsonObject:
    """What else this machine was doing."""
    return {"cpus": len(os.sched_getaffinity(0)), "load_average": [round(v, 1) for v in os.getloadavg()]}
