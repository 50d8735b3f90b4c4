"""What an operator can watch: one list of figures, told to CloudWatch on standard output and to Prometheus.

Standard library only, so that dashboards and alarms can take the names from here. CloudWatch's format is the
embedded metric format ("Specification: Embedded metric format" in the CloudWatch user guide).
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

NAMESPACE = "Semif"
"""CloudWatch's namespace of all figures."""
ENDPOINT_DIMENSION = "Endpoint"
VALUES_PER_LINE = 100
"""Most values of one metric in one line, a limit of the embedded metric format; others would be dropped."""


class Metric(NamedTuple):
    """One figure under both of its names."""

    name: str
    """In CloudWatch."""
    unit: Literal["Count", "Seconds", "None", "Count/Second"]
    series: str
    """In Prometheus; a summary's series end in `_sum` and `_count`."""
    kind: Literal["counter", "gauge", "summary"]
    help: str


REQUESTS_2XX = Metric(
    "Requests2xx", "Count", 'semif_requests_total{status="2xx"}', "counter", "requests by class of status"
)
REQUESTS_4XX = REQUESTS_2XX._replace(name="Requests4xx", series='semif_requests_total{status="4xx"}')
REQUESTS_5XX = REQUESTS_2XX._replace(name="Requests5xx", series='semif_requests_total{status="5xx"}')
OVERLOADS = Metric(
    "Overloads", "Count", "semif_overloads_total", "counter", "requests refused or given up for lack of time"
)
DECISIONS = Metric("Decisions", "Count", "semif_decisions_total", "counter", "questions answered")
PREFILL_TOKENS = Metric(
    "PrefillTokens", "Count", "semif_prefill_tokens_total", "counter", "shared prompt tokens computed"
)
SUFFIX_TOKENS = Metric(
    "SuffixTokens", "Count", "semif_suffix_tokens_total", "counter", "prompt tokens behind the shared ones"
)
CACHED_TOKENS = Metric(
    "CachedTokens", "Count", "semif_cached_tokens_total", "counter", "prompt tokens taken from a cache"
)
QUEUE_SECONDS = Metric(
    "QueueSeconds", "Seconds", "semif_queue_seconds", "summary", "time a queued request waited for the engine"
)
SCORE_SECONDS = Metric(
    "ScoreSeconds", "Seconds", "semif_score_seconds", "summary", "time the engine worked on a queued request"
)
REQUEST_SECONDS = Metric(
    "RequestSeconds",
    "Seconds",
    "semif_request_seconds",
    "summary",
    "time from arrival to reply, of queued requests",
)
ALLOWED_TOKEN_MASS = Metric(
    "AllowedTokenMass",
    "None",
    "semif_allowed_token_mass",
    "summary",
    "probability on the answer letters, 0 to 1",
)
QUEUE_DEPTH = Metric("QueueDepth", "Count", "semif_queue_depth", "gauge", "requests waiting for the engine")
IN_FLIGHT = Metric("InFlight", "Count", "semif_in_flight", "gauge", "requests admitted and not answered yet")
TOKENS_PER_SECOND = Metric(
    "TokensPerSecond",
    "Count/Second",
    "semif_tokens_per_second",
    "gauge",
    "running estimate of the engine's token rate",
)
ENGINE_READY = Metric("EngineReady", "Count", "semif_engine_ready", "gauge", "1 while requests are taken")

METRICS = (
    REQUESTS_2XX,
    REQUESTS_4XX,
    REQUESTS_5XX,
    OVERLOADS,
    DECISIONS,
    PREFILL_TOKENS,
    SUFFIX_TOKENS,
    CACHED_TOKENS,
    QUEUE_SECONDS,
    SCORE_SECONDS,
    REQUEST_SECONDS,
    ALLOWED_TOKEN_MASS,
    QUEUE_DEPTH,
    IN_FLIGHT,
    TOKENS_PER_SECOND,
    ENGINE_READY,
)
"""Every figure, in the order of the reports."""

STATES = ("loading", "ready", "stalled", "failed", "draining")
"""The engine's states, one series each in Prometheus."""


@dataclass
class _Sum:
    total: float = 0.0
    count: int = 0


class Recorder:
    """Collects the figures of one process. Not thread-safe: one event loop's thread observes and reports."""

    def __init__(self, endpoint: str | None) -> None:
        self._endpoint = endpoint
        self._sums = {metric.name: _Sum() for metric in METRICS if metric.kind != "gauge"}
        self._values: dict[str, list[float]] = {}

    def observe(self, metric: Metric, value: float = 1.0) -> None:
        """Count `value` (counters), or note it (summaries)."""
        summed = self._sums[metric.name]
        summed.total += value
        summed.count += 1
        values = self._values.setdefault(metric.name, [])
        if metric.kind == "counter" and values:
            values[0] += value
        else:
            values.append(value)

    @property
    def is_full(self) -> bool:
        """Whether a metric has as many values as one line may hold; another fills a further line."""
        return any(len(values) >= VALUES_PER_LINE for values in self._values.values())

    def emf_lines(self, gauges: Mapping[Metric, float], milliseconds: int) -> list[str]:
        """What was observed since the last time, and `gauges`, as of `milliseconds` since 1970.

        The first line has all of them, further ones only the values that a line has no room for. A counter
        that did not move is told as 0: a share of two counters needs both of them.
        """
        lines: list[dict[str, float | list[float]]] = [
            {metric.name: 0.0 for metric in METRICS if metric.kind == "counter"}
        ]
        for name, seen in self._values.items():
            for place, start in enumerate(range(0, len(seen), VALUES_PER_LINE)):
                if place == len(lines):
                    lines.append({})
                part = seen[start : start + VALUES_PER_LINE]
                lines[place][name] = part[0] if len(part) == 1 else part
        lines[0] |= {metric.name: value for metric, value in gauges.items()}
        self._values = {}
        return [self._emf_line(values, milliseconds) for values in lines]

    def _emf_line(self, values: Mapping[str, float | list[float]], milliseconds: int) -> str:
        dimensions = {ENDPOINT_DIMENSION: self._endpoint} if self._endpoint else {}
        directive = {
            "Namespace": NAMESPACE,
            "Dimensions": [list(dimensions)],
            "Metrics": [
                {"Name": metric.name, "Unit": metric.unit} for metric in METRICS if metric.name in values
            ],
        }
        line = {"_aws": {"Timestamp": milliseconds, "CloudWatchMetrics": [directive]}, **dimensions, **values}
        return json.dumps(line, allow_nan=False, separators=(",", ":"))

    def prometheus(self, gauges: Mapping[Metric, float], state: str) -> str:
        """Everything since the start, in Prometheus's text format 0.0.4."""
        return "".join(f"{line}\n" for line in self._prometheus_lines(gauges, state))

    def _prometheus_lines(self, gauges: Mapping[Metric, float], state: str) -> Iterator[str]:
        described = set()
        for metric in METRICS:
            family = metric.series.partition("{")[0]
            if family not in described:
                described.add(family)
                yield f"# HELP {family} {metric.help}"
                yield f"# TYPE {family} {metric.kind}"
            if metric.kind == "gauge":
                yield f"{metric.series} {gauges[metric]:.17g}"
            elif metric.kind == "counter":
                yield f"{metric.series} {self._sums[metric.name].total:.17g}"
            else:
                yield f"{metric.series}_sum {self._sums[metric.name].total:.17g}"
                yield f"{metric.series}_count {self._sums[metric.name].count}"
        yield "# HELP semif_engine_state 1 for the state that the engine is in"
        yield "# TYPE semif_engine_state gauge"
        for known in STATES:
            yield f'semif_engine_state{{state="{known}"}} {int(known == state)}'
