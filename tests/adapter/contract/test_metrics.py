import json
import subprocess
import sys
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semif_adapter.contract import figures
from semif_adapter.contract.figures import METRICS, Recorder
from semif_adapter.serving.lifecycle import LifecycleState

GAUGES = {metric: 2.0 for metric in METRICS if metric.kind == "gauge"}


SUMMARIES = [metric for metric in METRICS if metric.kind == "summary"]


def told(recorder: Recorder, milliseconds: int = 0) -> dict[str, Any]:
    (line,) = recorder.emf_lines(GAUGES, milliseconds)
    document: dict[str, Any] = json.loads(line)
    return document


def series(text: str) -> dict[str, float]:
    lines = [line.rpartition(" ") for line in text.splitlines() if not line.startswith("#")]
    return {name: float(value) for name, _, value in lines}


def test_the_names_need_no_library_but_pythons() -> None:
    code = (
        "import sys, semif_adapter.contract.figures; "
        "sys.exit('numpy' in sys.modules or 'pydantic' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_every_state_of_the_server_has_its_series() -> None:
    assert get_args(LifecycleState) == figures.STATES


def test_names_are_unique() -> None:
    assert len({metric.name for metric in METRICS}) == len(METRICS)
    assert len({metric.series for metric in METRICS}) == len(METRICS)


def test_prometheus_gets_totals_since_the_start() -> None:
    recorder = Recorder(None)
    for seconds in (0.5, 1.5):
        recorder.observe(figures.QUEUE_SECONDS, seconds)
        recorder.observe(figures.REQUESTS_2XX)
    recorder.observe(figures.SUFFIX_TOKENS, 300)
    recorder.emf_lines(GAUGES, 0)
    text = recorder.prometheus(GAUGES, "ready")

    totals = series(text)
    assert totals['semif_requests_total{status="2xx"}'] == 2
    assert totals['semif_requests_total{status="5xx"}'] == 0
    assert totals["semif_queue_seconds_sum"] == 2
    assert totals["semif_queue_seconds_count"] == 2
    assert totals["semif_suffix_tokens_total"] == 300
    assert totals["semif_tokens_per_second"] == 2
    assert totals['semif_engine_state{state="ready"}'] == 1
    assert totals['semif_engine_state{state="failed"}'] == 0
    assert text.count("# TYPE semif_requests_total counter") == 1


def test_cloudwatch_gets_what_is_new_with_every_value_of_a_distribution() -> None:
    recorder = Recorder("semif-dev")
    for seconds in (0.5, 1.5):
        recorder.observe(figures.QUEUE_SECONDS, seconds)
        recorder.observe(figures.REQUESTS_2XX)
    line = told(recorder, 1700000000000)
    assert line["_aws"]["Timestamp"] == 1700000000000
    assert line["QueueSeconds"] == [0.5, 1.5]
    assert line["Requests2xx"] == 2
    assert line["QueueDepth"] == 2
    assert line["Overloads"] == 0, "CloudWatch computes no share of a figure that is missing"
    units = {m["Name"]: m["Unit"] for m in line["_aws"]["CloudWatchMetrics"][0]["Metrics"]}
    assert units["QueueSeconds"] == "Seconds"
    assert set(units) == set(line) - {"_aws", "Endpoint"}

    assert "QueueSeconds" not in told(recorder)


def test_a_line_without_an_endpoint_has_no_dimension() -> None:
    line = told(Recorder(None))
    assert line["_aws"]["CloudWatchMetrics"][0]["Dimensions"] == [[]]


@given(
    seen=st.lists(st.tuples(st.sampled_from(SUMMARIES), st.floats(0, 1e6)), max_size=700),
    counted=st.integers(0, 300),
)
def test_every_value_is_told_once_however_many_there_are(
    seen: list[tuple[figures.Metric, float]], counted: int
) -> None:
    """CloudWatch takes 100 values of a metric from a line: counts and means are those observed."""
    recorder = Recorder("semif-dev")
    for metric, value in seen:
        recorder.observe(metric, value)
    for _ in range(counted):
        recorder.observe(figures.DECISIONS, 2)
    lines = [json.loads(line) for line in recorder.emf_lines(GAUGES, 7)]
    found: dict[str, list[float]] = {}
    for line in lines:
        assert (line["_aws"]["Timestamp"], line["Endpoint"]) == (7, "semif-dev")
        for described in line["_aws"]["CloudWatchMetrics"][0]["Metrics"]:
            values = line[described["Name"]]
            values = values if isinstance(values, list) else [values]
            assert 0 < len(values) <= figures.VALUES_PER_LINE
            found.setdefault(described["Name"], []).extend(values)
    for metric in SUMMARIES:
        assert found.get(metric.name, []) == [value for one, value in seen if one is metric]
    assert found["Decisions"] == [2 * counted]
    assert all(found[gauge.name] == [2.0] for gauge in GAUGES)
    assert len(recorder.emf_lines(GAUGES, 0)) == 1


def test_it_is_full_when_a_line_is() -> None:
    recorder = Recorder(None)
    for _ in range(figures.VALUES_PER_LINE):
        assert not recorder.is_full
        recorder.observe(figures.REQUEST_SECONDS, 0.1)
    assert recorder.is_full


def test_a_number_that_json_does_not_have_is_not_written() -> None:
    recorder = Recorder(None)
    recorder.observe(figures.ALLOWED_TOKEN_MASS, float("nan"))
    with pytest.raises(ValueError):
        recorder.emf_lines(GAUGES, 0)
