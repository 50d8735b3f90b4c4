"""What an engine may do wrong, and what a full or stopping server says; engines are scripted for it."""

import json
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.adapter.http.conftest import Gate
from tests.support.machine.waiting import eventually

SECRET = "Orchideenwasser"

Server = Any
StartServer = Callable[..., Server]
Document = dict[str, Any]


@pytest.mark.parametrize("logit", [float("nan"), float("inf"), float("-inf")])
def test_an_answer_that_is_not_finite_is_an_error(
    start_server: StartServer, scripted: Any, decision: Document, logit: float
) -> None:
    server = start_server(scripted(logit=logit))
    for request in ({"decision": decision}, {"decisions": [decision]}):
        reply = server.ask(request)
        assert reply.status == 500
        assert reply.json["error"]["code"] == "engine_error"
        assert reply.json["retryable"] is False
    assert server.request("GET", "/ping").status == 200


def test_an_unforeseen_failure_says_no_more_than_its_type(
    start_server: StartServer, scripted: Any, decision: Document, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(decisions: Any) -> None:
        if decisions[0].state == SECRET:
            raise ValueError(f"cannot score {decisions[0].state}")

    server = start_server(scripted(fail))
    with caplog.at_level(logging.DEBUG):
        reply = server.ask({"decision": decision | {"state": SECRET}})
    assert reply.status == 500
    assert reply.json["error"]["message"] == "the engine failed with ValueError"
    assert SECRET not in caplog.text
    assert "engine fault: ValueError" in caplog.text
    assert server.ask({"decision": decision}).status == 200


def test_a_full_server_answers_503_at_once_and_says_when_to_come_back(
    start_server: StartServer, scripted: Any, gate: Gate, decision: Document
) -> None:
    server = start_server(scripted(gate), max_in_flight=2)
    with ThreadPoolExecutor() as callers:
        first = callers.submit(server.ask, {"decision": decision})
        assert gate.entered.acquire(timeout=30)
        second = callers.submit(server.ask, {"decision": decision})

        def both_are_in() -> bool:
            assert server.request("GET", "/ping").status == 200  # a busy engine does not stop the ping
            return bool(server.queue.admission.requests == 2)

        eventually(both_are_in)
        third = server.ask({"decision": decision})
        gate.open()
        assert third.status == 503
        assert third.json["error"]["code"] == "overloaded"
        assert third.json["retryable"] is True
        assert third.json["retry_after_seconds"] > 0
        assert [first.result().status, second.result().status] == [200, 200]
    assert server.ask({"decision": decision}).status == 200


def test_an_overloaded_server_reads_what_it_refuses(
    start_server: StartServer, scripted: Any, gate: Gate, decision: Document
) -> None:
    server = start_server(scripted(gate), max_in_flight=1)
    with ThreadPoolExecutor() as callers:
        running = callers.submit(server.ask, {"decision": decision})
        assert gate.entered.acquire(timeout=30)
        headers = {"content-type": "application/json", "connection": "close"}
        body = json.dumps({"decision": decision | {"state": "x" * 4_000_000}}).encode()
        assert server.request("POST", "/invocations", body, headers).status == 503
        gate.open()
        assert running.result().status == 200


def test_a_stopping_server_finishes_what_it_admitted_and_takes_nothing_new(
    start_server: StartServer, scripted: Any, gate: Gate, decision: Document
) -> None:
    server = start_server(scripted(gate))
    with ThreadPoolExecutor() as callers:
        running = callers.submit(server.ask, {"decision": decision})
        assert gate.entered.acquire(timeout=30)
        server.call_soon(server.queue.lifecycle.drain)
        eventually(lambda: server.request("GET", "/ping").status, lambda status: status != 200)
        reply = server.ask({"decision": decision})
        assert reply.status == 503
        assert reply.json["error"]["code"] == "draining"
        assert reply.json["retryable"] is True
        gate.open()
        assert running.result().status == 200


def test_a_loading_server_listens_and_is_not_ready(
    start_loading_server: StartServer, decision: Document
) -> None:
    server, finish_loading = start_loading_server()
    for reply in (server.request("GET", "/ping"), server.ask({"decision": decision})):
        assert reply.status == 503
        assert reply.json["error"]["code"] == "loading"
        assert reply.json["retry_after_seconds"] > 0
    finish_loading()
    assert server.wait_ready().ask({"decision": decision}).status == 200


def test_a_caller_that_leaves_disturbs_nobody(
    start_server: StartServer, scripted: Any, gate: Gate, decision: Document
) -> None:
    engine = scripted(gate)
    server = start_server(engine)
    connection = server.connect()
    connection.request(
        "POST", "/invocations", json.dumps({"decision": decision}), {"content-type": "application/json"}
    )
    assert gate.entered.acquire(timeout=30)
    connection.close()
    gate.open()
    assert server.ask({"decision": decision}).status == 200
    assert len(engine.calls) == 2
