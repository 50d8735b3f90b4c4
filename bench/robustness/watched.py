"""What a run shows of the served process: its memory, threads and descriptors over time, and its pings."""

import threading
import time
from pathlib import Path
from types import TracebackType

from bench.engine.contenders.adapter_process import JsonObject, Served

PING_EVERY_SECONDS = 0.05
SAMPLES = 10
"""Of memory, threads and descriptors; evenly over the run, and one at each end."""


class Watched:
    """Pings the server far more often than SageMaker does, and looks at its process, while entered."""

    def __init__(self, served: Served, seconds: float) -> None:
        self._served = served
        self._every = seconds / SAMPLES
        self._end = threading.Event()
        self._threads = [threading.Thread(target=run) for run in (self._ping, self._sample)]
        self.pings: list[float] = []
        """Seconds that each took."""
        self.bad_pings = 0
        self.memory: list[int] = []
        """Bytes."""
        self._counts: list[tuple[int, int]] = []

    def __enter__(self) -> "Watched":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end.set()
        for thread in self._threads:
            thread.join()

    def _ping(self) -> None:
        connection = self._served.connect(timeout=30)
        while not self._end.wait(PING_EVERY_SECONDS):
            began = time.perf_counter()
            try:
                connection.request("GET", "/ping")
                reply = connection.getresponse()
                reply.read()
                self.bad_pings += reply.status != 200
            except OSError:
                self.bad_pings += 1
                connection.close()
            self.pings.append(time.perf_counter() - began)
        connection.close()

    def _sample(self) -> None:
        while self._served.is_alive:
            process = Path(f"/proc/{self._served.pid}")
            self.memory.append(self._served.resident_bytes)
            threads, files = (len(list((process / what).iterdir())) for what in ("task", "fd"))
            self._counts.append((threads, files))
            if self._end.wait(self._every):
                return

    def report(self) -> JsonObject:
        """The figures, for a run's own report."""
        pings = sorted(self.pings) or [0.0]
        threads, descriptors = zip(*self._counts, strict=True) if self._counts else ((), ())
        return {
            "ping_ms": {
                "count": len(pings),
                "not_200": self.bad_pings,
                "p50": round(pings[len(pings) // 2] * 1000, 2),
                "p99": round(pings[len(pings) * 99 // 100] * 1000, 2),
                "max": round(pings[-1] * 1000, 2),
            },
            "own_memory_mb": [round(size / 1e6, 1) for size in self.memory],
            "threads": list(threads),
            "descriptors": list(descriptors),
        }
