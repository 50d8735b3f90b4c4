"""Feeds the metrics from the requests and their queue, and writes them to standard output in time."""

import asyncio
import time

from semif_adapter.contract import figures
from semif_adapter.contract.errors import DeadlineError, OverloadedError
from semif_adapter.contract.figures import Metric, Recorder
from semif_adapter.contract.settings import Settings
from semif_adapter.serving.line_writer import STANDARD_OUTPUT, LineWriter
from semif_adapter.serving.request_log import RequestRecord
from semif_adapter.serving.request_queue import RequestQueue

FLUSH_SECONDS = 60.0
"""CloudWatch's own resolution."""
UNLOGGED = frozenset({"/ping", "/metrics"})
"""Asked by machines every few seconds: neither logged nor counted."""


class Telemetry:
    """What one process tells about itself. On the event loop's thread."""

    def __init__(self, queue: RequestQueue, settings: Settings, output: LineWriter = STANDARD_OUTPUT) -> None:
        self._queue = queue
        self._emf = settings.metrics == "emf"
        self._output = output
        self._recorder = Recorder(settings.endpoint_name)

    def finished(self, record: RequestRecord) -> None:
        """A request is over: log it and count it."""
        if record.path in UNLOGGED:
            return
        record.write()
        observe = self._recorder.observe
        by_class = {2: figures.REQUESTS_2XX, 4: figures.REQUESTS_4XX}
        observe(by_class.get(record.status // 100, figures.REQUESTS_5XX))
        if record.code in (OverloadedError.code, DeadlineError.code):
            observe(figures.OVERLOADS)
        if record.queue_seconds is not None:  # what was refused at once would make the means fall under load
            observe(figures.REQUEST_SECONDS, time.monotonic() - record.arrived)
            observe(figures.QUEUE_SECONDS, record.queue_seconds)
            observe(figures.SCORE_SECONDS, record.score_seconds)
        if record.answered and record.decisions:
            observe(figures.DECISIONS, record.decisions)
            observe(figures.PREFILL_TOKENS, record.prefill_tokens)
            observe(figures.SUFFIX_TOKENS, record.suffix_tokens)
            observe(figures.CACHED_TOKENS, record.cached_tokens)
            for mass in record.masses:
                observe(figures.ALLOWED_TOKEN_MASS, mass)
        if self._recorder.is_full:
            self.flush()

    def prometheus(self) -> str:
        """The reply to `GET /metrics`."""
        return self._recorder.prometheus(self._gauges(), self._queue.lifecycle.state)

    def flush(self) -> None:
        """Write what was observed since the last time."""
        for line in self._recorder.emf_lines(self._gauges(), time.time_ns() // 1_000_000):
            if self._emf:
                self._output.write(line)

    async def run(self) -> None:
        """Flush every FLUSH_SECONDS until cancelled."""
        while True:
            await asyncio.sleep(FLUSH_SECONDS)
            self.flush()

    def _gauges(self) -> dict[Metric, float]:
        admission = self._queue.admission
        return {
            figures.QUEUE_DEPTH: admission.queued,
            figures.IN_FLIGHT: admission.requests,
            figures.TOKENS_PER_SECOND: admission.rate.tokens_per_second,
            figures.ENGINE_READY: int(self._queue.lifecycle.state == "ready"),
        }
