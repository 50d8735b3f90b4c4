"""The containers' log: every line once and in order, whatever the pages, and readable."""

import json
import time
from itertools import islice
from typing import Any

import pytest
from botocore.stub import Stubber
from click.testing import CliRunner

from semif.aws.clients import Aws
from semif.aws.container_log import ContainerLog, follow_log, read_log
from semif.cli import main
from semif.deployment.endpoint.token_rate import rate_from_log
from semif.errors import SemifError
from semif.sagemaker.log_groups import log_group

GROUP = log_group("semif-demo")
LOG = ContainerLog.of_endpoint("semif-demo")
REQUEST = {
    "time": "2026-01-31T12:00:00.000+00:00",
    "level": "WARNING",
    "logger": "semif_adapter.requests",
    "message": "request",
    "status": 503,
    "code": "overloaded",
    "allowed_token_mass": [0.5, 1.0],
}


def event(
    identity: str, milliseconds: int, message: str = "", stream: str = "AllTraffic/i-1"
) -> dict[str, Any]:
    told = {"eventId": identity, "timestamp": milliseconds, "ingestionTime": milliseconds}
    return {**told, "logStreamName": stream, "message": message or identity}


@pytest.fixture(scope="module")
def recorded() -> Aws:
    aws = Aws(region="eu-central-1", endpoint_url="http://127.0.0.1:9")
    assert aws.logs
    return aws


def test_empty_pages_are_not_the_end(recorded: Aws) -> None:
    asked = {"logGroupName": GROUP, "startTime": 5000, "interleaved": True}
    with Stubber(recorded.logs) as stub:
        stub.add_response("filter_log_events", {"events": [], "nextToken": "2"}, asked)
        more = {"events": [event("a", 6000)], "nextToken": "3"}
        stub.add_response("filter_log_events", more, asked | {"nextToken": "2"})
        stub.add_response("filter_log_events", {"events": [event("b", 7000)]}, asked | {"nextToken": "3"})
        lines = list(read_log(recorded, LOG, since=5))
    assert [(line.id, line.milliseconds, line.message) for line in lines] == [
        ("a", 6000, "a"),
        ("b", 7000, "b"),
    ]


def test_followed_lines_come_once_late_ones_too(recorded: Aws) -> None:
    now = 1_000_000
    asked = {"logGroupName": GROUP, "interleaved": True}
    with Stubber(recorded.logs) as stub:
        stub.add_client_error("filter_log_events", "ResourceNotFoundException")  # no line was printed yet
        first = {"events": [event("a", now), event("b", now + 50_000)]}
        stub.add_response("filter_log_events", first, asked | {"startTime": now})
        late = {"events": [event("late", now + 20_000), event("b", now + 50_000)], "nextToken": "2"}
        again = asked | {"startTime": now + 20_000}
        stub.add_response("filter_log_events", late, again)
        stub.add_response(
            "filter_log_events", {"events": [event("c", now + 50_000)]}, again | {"nextToken": "2"}
        )
        lines = follow_log(recorded, LOG, since=now / 1000, poll_seconds=0)
        assert [line.id for line in islice(lines, 4)] == ["a", "b", "late", "c"]
        stub.assert_no_pending_responses()


def print_lines(aws: Aws, *lines: tuple[str, str]) -> None:
    """Put (stream, message) into a log of its own, a millisecond apart."""
    aws.logs.create_log_group(logGroupName=GROUP)
    for stream in {stream for stream, _ in lines}:
        aws.logs.create_log_stream(logGroupName=GROUP, logStreamName=stream)
    began = int(time.time() * 1000) - len(lines)
    for number, (stream, message) in enumerate(lines):
        told = [{"timestamp": began + number, "message": message}]
        aws.logs.put_log_events(logGroupName=GROUP, logStreamName=stream, logEvents=told)  # type: ignore[arg-type]  # a list of them


def test_the_command_merges_instances_and_renders_json(account: Aws, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Aws, "from_profile", lambda **_: account)
    empty = CliRunner().invoke(main, ["logs", "demo"])
    assert empty.exit_code == 1
    assert f"there is no log {GROUP} in us-east-1" in empty.stderr

    figures = [{"_aws": {}, "Endpoint": "semif-demo", "TokensPerSecond": rate} for rate in (100, 300, 200.5)]
    print_lines(
        account,
        ("AllTraffic/i-1", "plain \x1b[2Jtext\tof a server"),
        ("AllTraffic/i-2", json.dumps(REQUEST)),
        *(("AllTraffic/i-2", json.dumps(figure)) for figure in figures),
        ("AllTraffic/i-1", "{broken"),
    )
    shown = CliRunner().invoke(main, ["logs", "demo", "--since", "5m"])
    assert shown.exit_code == 0, shown.stderr
    assert [line.split(" ", 2)[2] for line in shown.stdout.splitlines()] == [
        "i-1 plain  [2Jtext of a server",
        "i-2 WARNING request status=503 code=overloaded allowed_token_mass=[0.5,1.0]",
        "i-1 {broken",
    ]
    raw = CliRunner().invoke(main, ["logs", "demo", "--json"])
    told = [json.loads(line) for line in raw.stdout.splitlines()]
    assert len(told) == 6
    assert json.loads(told[1]["message"]) == REQUEST
    assert (told[1]["stream"], set(told[1])) == ("AllTraffic/i-2", {"time", "stream", "message"})

    assert rate_from_log(account, "semif-demo") == (200.5, 3)
    with pytest.raises(SemifError, match="there is no log"):
        rate_from_log(account, "semif-other")


@pytest.mark.parametrize("since", ["1", "1w", "-1h", "h", "1.5h", "10000000s"])
def test_a_time_is_a_number_and_its_unit(since: str) -> None:
    result = CliRunner().invoke(main, ["logs", "demo", "--since", since])
    assert result.exit_code == 2
    assert "must be a whole number and s, m, h or d" in result.stderr
