"""What `GET /metrics` and the reply's headers tell, over real HTTP."""

import json
import logging
from collections.abc import Callable
from typing import Any

import pytest

Server = Any
StartServer = Callable[..., Server]
Document = dict[str, Any]


def figures(server: Server) -> dict[str, float]:
    reply = server.request("GET", "/metrics")
    assert reply.status == 200
    assert reply.headers["content-type"].startswith("text/plain; version=0.0.4")
    split = [line.rpartition(" ") for line in reply.body.decode().splitlines() if not line.startswith("#")]
    return {series: float(value) for series, _, value in split}


def test_requests_are_counted_by_whose_fault_they_are(
    start_server: StartServer, scripted: Any, decision: Document
) -> None:
    def fail(questions: Any) -> None:
        if questions[0].id == "bad":
            raise ValueError

    server = start_server(scripted(fail))
    assert server.ask({"decision": decision}).status == 200
    for body in (b"", b" ", b"\0", b"null", b"[]", b"{}", b'{"decision":null}'):
        assert server.ask(body).status == 400
    assert server.ask({"decision": decision | {"id": "bad"}}).status == 500
    assert server.request("GET", "/nowhere").status == 404
    for _ in range(5):
        assert server.request("GET", "/ping").status == 200

    told = figures(server)
    assert told['semif_requests_total{status="2xx"}'] == 1
    assert told['semif_requests_total{status="4xx"}'] == 8
    assert told['semif_requests_total{status="5xx"}'] == 1
    assert told["semif_overloads_total"] == 0
    assert told["semif_decisions_total"] == 1
    assert told["semif_queue_seconds_count"] == 2
    assert told["semif_allowed_token_mass_sum"] == 1
    assert told["semif_engine_ready"] == 1
    assert told["semif_in_flight"] == 0


@pytest.mark.parametrize("refused", ["fault", "too long", "not finite", "invalid"])
def test_a_refused_line_of_a_transform_job_is_no_answered_question(
    start_server: StartServer,
    scripted: Any,
    decision: Document,
    refused: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Its status is 200 (docs/adr/0010-refused-lines.md)."""

    def fail(questions: Any) -> None:
        if questions[0].id == "fault":
            raise ValueError

    engine = scripted(
        fail,
        float("nan") if refused == "not finite" else 1.0,
        tokens=lambda asked: 2_000 if asked[0].id == "too long" else 1,
        tokens_per_second=10.0,
    )
    server = start_server(engine, batch=True)
    options = decision["options"][: 1 if refused == "invalid" else 2]
    line = {"decision": decision | {"id": refused, "options": options}}
    with caplog.at_level(logging.INFO):
        reply = server.ask(line)
        told = figures(server)
    assert (reply.status, set(reply.json)) == (200, {"error", "retryable"})
    (logged,) = [vars(record)["fields"] for record in caplog.records if record.message == "request"]
    assert logged["code"] == reply.json["error"]["code"]
    assert "allowed_token_mass" not in logged
    assert told['semif_requests_total{status="2xx"}'] == 1
    assert told["semif_decisions_total"] == 0
    assert told["semif_allowed_token_mass_count"] == 0


def test_a_refusal_for_lack_of_time_is_counted_as_overload(
    start_server: StartServer, scripted: Any, decision: Document
) -> None:
    server = start_server(scripted(tokens=80_000))
    assert server.ask({"decision": decision}).status == 503
    told = figures(server)
    assert told["semif_overloads_total"] == 1
    assert told['semif_requests_total{status="5xx"}'] == 1


def test_a_refusal_is_no_wait_of_no_seconds(
    start_server: StartServer, scripted: Any, decision: Document
) -> None:
    """Nor a quick answer: the means of the seconds are those of requests that were in the queue."""
    server = start_server(scripted(tokens=80_000))
    for _ in range(2):
        assert server.ask({"decision": decision}).status == 503
    assert server.ask({}).status == 400
    told = figures(server)
    for summary in ("semif_queue_seconds", "semif_score_seconds", "semif_request_seconds"):
        assert told[f"{summary}_count"] == 0


@pytest.mark.parametrize(
    ("sent", "echoed"),
    [
        (
            {"x-amzn-sagemaker-custom-attributes": "trace=7"},
            {"x-amzn-sagemaker-custom-attributes": "trace=7"},
        ),
        ({"x-amzn-trace-id": "Root=1-2"}, {"x-amzn-trace-id": "Root=1-2"}),
        ({"x-request-id": "mine"}, {"x-request-id": "mine"}),
        ({"x-amzn-sagemaker-custom-attributes": "a" * 1025}, {}),
        ({"x-amzn-sagemaker-custom-attributes": "\xe9"}, {}),
    ],
    ids=["attributes", "trace", "own id", "too long", "no ascii"],
)
def test_ids_come_back_where_they_are_sound(
    start_module_server: StartServer,
    decision: Document,
    sent: dict[str, str],
    echoed: dict[str, str],
) -> None:
    server = start_module_server()
    body = json.dumps({"decision": decision})
    for document, status in ((body, 200), ("{}", 400)):
        reply = server.request("POST", "/invocations", document, {"content-type": "application/json", **sent})
        assert reply.status == status
        assert len(reply.headers["x-request-id"]) in (4, 32)
        assert {name: reply.headers[name] for name in sent if name in reply.headers} == echoed
