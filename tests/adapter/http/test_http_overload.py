"""Too much work, late work, work that nobody waits for any more, and an engine that stands still."""

import http.client
import json
import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

import pytest

from semif_adapter.http.protocol import BoundedProtocol
from semif_adapter.serving import checkers
from tests.adapter.http.conftest import Gate
from tests.support.machine.waiting import eventually

Server = Any
StartServer = Callable[..., Server]
Document = dict[str, Any]


@pytest.fixture
def callers() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor() as executor:
        yield executor


def run_one(server: Server, gate: Gate, callers: ThreadPoolExecutor, decision: Document) -> "Future[Any]":
    """A request that the engine works on until the gate opens."""
    running = callers.submit(server.ask, {"decision": decision})
    assert gate.entered.acquire(timeout=30)
    return running


def wait_until(server: Server, condition: Callable[[], bool]) -> None:
    def holds() -> bool:
        assert server.request("GET", "/metrics").status == 200
        return condition()

    eventually(holds)


def asked(server: Server) -> list[str]:
    """The ids of what the engine was asked, in order."""
    return [questions[0].id for questions, _ in server.engine.calls]


def send_and_leave(server: Server, decision: Document) -> Any:
    """A connection with a request on its way; close it to hang up."""
    connection = server.connect()
    body = json.dumps({"decision": decision})
    connection.request("POST", "/invocations", body, {"content-type": "application/json"})
    return connection


def test_what_cannot_meet_its_deadline_is_refused_at_once(
    start_server: StartServer,
    scripted: Any,
    gate: Gate,
    callers: ThreadPoolExecutor,
    decision: Document,
) -> None:
    server = start_server(scripted(gate, tokens=1000, tokens_per_second=50), deadline_seconds=30)
    running = run_one(server, gate, callers, decision)
    refused = server.ask({"decision": decision})
    assert refused.status == 503
    assert refused.json["error"]["code"] == "overloaded"
    assert refused.json["retryable"] is True
    # 20 s for each of the two, in 30 s: after 10 s of the first there is room.
    assert 1 < refused.json["retry_after_seconds"] <= 10
    assert int(refused.headers["retry-after"]) >= refused.json["retry_after_seconds"]
    gate.open()
    assert running.result().status == 200


def test_what_its_machine_is_too_slow_for_is_refused_though_it_idles(
    start_server: StartServer, scripted: Any, decision: Document
) -> None:
    server = start_server(scripted(tokens=1000, tokens_per_second=10), deadline_seconds=55)
    assert server.ask({"decision": decision}).json["error"]["code"] == "overloaded"
    assert server.engine.calls == []


def test_a_queue_full_of_tokens_refuses_more(
    start_server: StartServer,
    scripted: Any,
    gate: Gate,
    callers: ThreadPoolExecutor,
    decision: Document,
) -> None:
    server = start_server(scripted(gate, tokens=1000, tokens_per_second=1e6), max_queued_tokens=1500)
    running = run_one(server, gate, callers, decision)
    reply = server.ask({"decision": decision})
    assert (reply.status, reply.json["error"]["code"]) == (503, "overloaded")
    gate.open()
    assert running.result().status == 200


def test_a_short_request_need_not_wait_for_a_long_one_to_end(
    start_server: StartServer,
    scripted: Any,
    gate: Gate,
    callers: ThreadPoolExecutor,
    decision: Document,
) -> None:
    """The long one takes four forward passes; the short one comes in the middle of the first."""
    server = start_server(scripted(gate, tokens=lambda asked: 2000 if asked[0].id == "long" else 10))
    long = run_one(server, gate, callers, decision | {"id": "long"})
    short = callers.submit(server.ask, {"decision": decision | {"id": "short"}})
    wait_until(server, lambda: server.queue.admission.queued == 1)
    gate.open()
    assert [long.result().status, short.result().status] == [200, 200]
    ids = [questions[0].id for questions in server.engine.passes]
    assert ids == ["long", "short", "long", "long", "long"]


def test_a_deadline_ends_both_the_waiting_and_the_working(
    start_server: StartServer,
    scripted: Any,
    gate: Gate,
    callers: ThreadPoolExecutor,
    decision: Document,
) -> None:
    server = start_server(scripted(gate), deadline_seconds=1)
    running = run_one(server, gate, callers, decision)
    queued = server.ask({"decision": decision | {"id": "queued"}})
    for reply in (queued, running.result()):
        assert reply.status == 503
        assert reply.json["error"]["code"] == "deadline"
        assert reply.json["retryable"] is True
        assert reply.json["retry_after_seconds"] > 0
    assert server.engine.abandoned.is_set()
    gate.open()
    assert server.ask({"decision": decision | {"id": "next"}}).status == 200
    assert asked(server) == ["d", "next"]


def test_a_client_that_hangs_up_in_the_queue_frees_its_place(
    start_server: StartServer,
    scripted: Any,
    gate: Gate,
    callers: ThreadPoolExecutor,
    decision: Document,
) -> None:
    server = start_server(scripted(gate), max_in_flight=2)
    admission = server.queue.admission
    running = run_one(server, gate, callers, decision)
    leaving = send_and_leave(server, decision | {"id": "gone"})
    wait_until(server, lambda: admission.queued == 1)
    assert server.ask({"decision": decision}).status == 503
    leaving.close()
    wait_until(server, lambda: admission.queued == 0 and admission.requests == 1)
    neighbour = callers.submit(server.ask, {"decision": decision | {"id": "neighbour"}})
    wait_until(server, lambda: admission.queued == 1)
    gate.open()
    assert [running.result().status, neighbour.result().status] == [200, 200]
    assert asked(server) == ["d", "neighbour"]


def test_a_client_that_hangs_up_while_running_stops_the_work_on_it_alone(
    start_server: StartServer,
    scripted: Any,
    gate: Gate,
    callers: ThreadPoolExecutor,
    decision: Document,
) -> None:
    server = start_server(scripted(gate), max_in_flight=1)
    leaving = send_and_leave(server, decision)
    assert gate.entered.acquire(timeout=30)
    assert not server.engine.abandoned.is_set()
    leaving.close()
    assert server.engine.abandoned.wait(30)
    wait_until(server, lambda: server.queue.admission.requests == 0)
    neighbour = callers.submit(server.ask, {"decision": decision | {"id": "neighbour"}})
    wait_until(server, lambda: server.queue.admission.queued == 1)
    gate.open()
    assert neighbour.result().status == 200
    assert server.queue.admission.backlog_seconds() == 0.0


def test_uploads_that_trickle_hold_no_place(start_server: StartServer, decision: Document) -> None:
    """Sixteen clients that send a byte a second would hold sixteen places."""
    server = start_server(body_seconds=3600, max_in_flight=1)
    with ExitStack() as trickling:
        for _ in range(5):
            connection = trickling.enter_context(socket.create_connection(("127.0.0.1", server.port), 30))
            connection.sendall(server.post({"decision": decision})[:-1])
        assert server.ask({"decision": decision}).status == 200
        assert server.queue.admission.requests == 0


def test_bodies_that_are_being_read_are_bounded_together(
    start_server: StartServer, scripted: Any, decision: Document
) -> None:
    engine = scripted()
    engine.request_bytes = 100_000
    server = start_server(engine, body_seconds=3600)
    long = server.post({"decision": decision | {"state": "x" * 20_000}})
    with socket.create_connection(("127.0.0.1", server.port), 30) as trickling:
        trickling.sendall(long[:-1])
        wait_until(server, lambda: server.queue.memory.bodies.held > 20_000)
        status, body = server.raw(long)
        error = json.loads(body)
        assert (status, error["error"]["code"], error["retryable"]) == (503, "overloaded", True)
        assert server.request("GET", "/ping").status == 200
        assert server.ask({"decision": decision}).status == 200
    wait_until(server, lambda: server.queue.memory.bodies.held == 0)


def test_documents_are_bounded_together_until_they_are_answered(
    start_server: StartServer, scripted: Any, gate: Gate, callers: ThreadPoolExecutor, decision: Document
) -> None:
    engine = scripted(gate)
    engine.request_bytes = 100_000
    server = start_server(engine)
    long = decision | {"state": "x" * 3_000}
    running = run_one(server, gate, callers, long)
    reply = server.ask({"decision": long})
    assert (reply.status, reply.json["error"]["code"], reply.json["retryable"]) == (503, "overloaded", True)
    assert reply.headers["retry-after"]
    assert server.request("GET", "/ping").status == 200
    gate.open()
    assert running.result().status == 200
    assert server.ask({"decision": long}).status == 200
    wait_until(server, lambda: server.queue.memory.documents.held == 0)


def test_a_request_that_never_finds_the_memory_is_no_matter_of_time(
    start_server: StartServer, scripted: Any, decision: Document
) -> None:
    engine = scripted()
    engine.request_bytes = 100_000
    server = start_server(engine)
    reply = server.ask({"decision": decision | {"state": "x" * 10_000}})
    assert (reply.status, reply.json["error"]["code"], reply.json["retryable"]) == (
        413,
        "body_too_large",
        False,
    )
    assert server.ask({"decision": decision}).status == 200


def test_a_check_keeps_its_memory_until_its_thread_is_done(
    start_server: StartServer, scripted: Any, decision: Document
) -> None:
    """Its client is gone long before; what it holds is there all the same."""
    checking, go_on = threading.Event(), threading.Event()

    def tokenize(_: Any) -> None:
        checking.set()
        assert go_on.wait(30)

    server = start_server(scripted(tokenize=tokenize))
    with socket.create_connection(("127.0.0.1", server.port), 30) as connection:
        connection.sendall(server.post({"decision": decision}))
        assert checking.wait(30)
    wait_until(server, lambda: server.queue.admission.requests == 0)
    assert server.queue.memory.documents.held > 0
    go_on.set()
    wait_until(server, lambda: server.queue.memory.documents.held == 0)


def test_long_texts_keep_no_short_one_waiting(
    start_server: StartServer,
    scripted: Any,
    callers: ThreadPoolExecutor,
    decision: Document,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """llama.cpp cannot be stopped in the middle of a text."""
    monkeypatch.setattr(checkers, "LONG_BODY_BYTES", 1_000)
    checking, go_on = threading.Event(), threading.Event()

    def tokenize(question: Any) -> None:
        if len(question.state) > 1_000:
            checking.set()
            assert go_on.wait(30)

    server = start_server(scripted(tokenize=tokenize))
    long = decision | {"state": "x" * 2_000}
    waiting = [callers.submit(server.ask, {"decision": long}) for _ in range(4)]
    assert checking.wait(30)
    assert server.ask({"decision": decision}).status == 200
    go_on.set()
    assert [one.result().status for one in waiting] == [200] * 4


def test_an_upload_that_stalls_is_ended(start_server: StartServer, scripted: Any, decision: Document) -> None:
    server = start_server(body_seconds=0.2, max_in_flight=1)
    status, body = server.raw(
        b"POST /invocations HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        b"Content-Length: 1000\r\n\r\n{"
    )
    assert status == 408
    assert json.loads(body)["error"]["code"] == "request_timeout"
    assert server.ask({"decision": decision}).status == 200


def test_an_upload_that_stalls_does_not_delay_a_stop(start_server: StartServer) -> None:
    server = start_server(body_seconds=3600)
    with socket.create_connection(("127.0.0.1", server.port), 30) as connection:
        connection.sendall(
            b"POST /invocations HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
            b"Expect: 100-continue\r\nContent-Length: 1000\r\n\r\n"
        )
        assert connection.recv(25) == b"HTTP/1.1 100 Continue\r\n\r\n"  # the body is being read
        server.call_soon(server.queue.lifecycle.drain)
        response = http.client.HTTPResponse(connection)
        response.begin()
        assert (response.status, json.loads(response.read())["error"]["code"]) == (503, "draining")


def test_an_engine_that_stands_still_fails_the_ping_until_it_moves(
    start_server: StartServer,
    scripted: Any,
    gate: Gate,
    callers: ThreadPoolExecutor,
    decision: Document,
) -> None:
    server = start_server(scripted(gate), stall_seconds=0.2)
    running = run_one(server, gate, callers, decision)
    reply = eventually(lambda: server.request("GET", "/ping"), lambda reply: reply.status != 200)
    assert reply.json["error"]["code"] == "stalled"
    assert server.ask({"decision": decision}).json["error"]["code"] == "stalled"
    gate.open()
    assert running.result().status == 200
    eventually(lambda: server.request("GET", "/ping").status, lambda status: status == 200)
    assert server.ask({"decision": decision}).status == 200


@pytest.mark.parametrize("form", ["decision", "questions"])
def test_a_shortage_of_memory_is_a_matter_of_time(
    start_server: StartServer, scripted: Any, decision: Document, form: str
) -> None:
    def tokenize(_: Any) -> None:
        raise MemoryError

    server = start_server(scripted(tokenize=tokenize))
    question = {"type": "noul", "instructions": "Is it so?"}
    asked = {"decision": decision, "questions": {"q": question}}
    reply = server.ask({form: asked[form]} | ({"state": "s"} if form == "questions" else {}))
    assert reply.status == 503
    assert "there is no memory for the request now" in reply.body.decode()


def test_a_shortage_of_memory_for_a_body_is_no_fault_of_its_client(
    start_server: StartServer, decision: Document
) -> None:
    class Full(BoundedProtocol):
        def on_body(self, body: bytes) -> None:
            raise MemoryError

    server = start_server(protocol=Full)
    reply = server.ask({"decision": decision})
    assert (reply.status, reply.json["error"]["code"], reply.json["retryable"]) == (503, "overloaded", True)


def test_no_request_needs_a_new_thread(
    start_server: StartServer, decision: Document, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process without room for one answered 500 for ever, and 200 to the ping."""

    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    server = start_server()
    monkeypatch.setattr(threading.Thread, "start", refuse)
    assert server.ask({"decision": decision}).status == 200


def test_a_check_that_nobody_waits_for_ends_at_its_next_question(
    start_server: StartServer, scripted: Any, decision: Document
) -> None:
    checking, go_on = threading.Event(), threading.Event()
    tokenized: list[str] = []

    def tokenize(question: Any) -> None:
        tokenized.append(question.id)
        if question.id == "slow":
            checking.set()
            assert go_on.wait(30)

    server = start_server(scripted(tokenize=tokenize))
    connection = server.connect()
    body = json.dumps({"decisions": [decision | {"id": name} for name in ("slow", "never")]})
    connection.request("POST", "/invocations", body, {"content-type": "application/json"})
    assert checking.wait(30)
    connection.close()
    wait_until(server, lambda: server.queue.admission.requests == 0)
    go_on.set()
    assert server.ask({"decision": decision}).status == 200
    wait_until(server, lambda: tokenized == ["slow", "d"])


def test_a_check_that_does_not_end_fails_the_ping_until_it_does(
    start_server: StartServer, scripted: Any, decision: Document, monkeypatch: pytest.MonkeyPatch
) -> None:
    """llama.cpp tokenises one text to its end, however long it takes."""
    monkeypatch.setattr(checkers, "OVERRUN_SECONDS", 0.0)
    go_on = threading.Event()
    server = start_server(scripted(tokenize=lambda _: go_on.wait(30)), deadline_seconds=1)
    assert server.ask({"decision": decision}).json["error"]["code"] == "deadline"
    reply = eventually(lambda: server.request("GET", "/ping"), lambda reply: reply.status != 200)
    assert (reply.status, reply.json["error"]["code"]) == (503, "stalled")
    go_on.set()
    eventually(lambda: server.request("GET", "/ping").status, lambda status: status == 200)
    assert server.ask({"decision": decision}).status == 200


def test_a_fault_of_one_request_is_not_the_engines_end(
    start_server: StartServer, scripted: Any, decision: Document
) -> None:
    def fail(questions: Any) -> None:
        if questions[0].id == "bad":
            raise ValueError

    server = start_server(scripted(fail))
    assert server.ask({"decision": decision | {"id": "bad"}}).status == 500
    assert server.ask({"decision": decision}).status == 200


def test_what_waits_for_an_engine_that_dies_is_told_so_each_in_its_own_form(
    start_server: StartServer,
    scripted: Any,
    gate: Gate,
    callers: ThreadPoolExecutor,
    decision: Document,
) -> None:
    def fail(questions: Any) -> None:
        gate(questions)
        raise ValueError

    def die() -> None:
        raise ValueError

    server = start_server(scripted(fail, prove=die))
    running = run_one(server, gate, callers, decision)
    system_one = {"state": "s", "questions": {"q": {"type": "noul", "instructions": "Is it so?"}}}
    waiting = [callers.submit(server.ask, body) for body in (system_one, {"decision": decision}, system_one)]
    wait_until(server, lambda: server.queue.admission.queued == 3)
    gate.open()
    assert running.result().json["error"]["message"] == "the engine failed with ValueError"
    message = "the engine failed, the server is ending"
    first, second, third = (call.result().json for call in waiting)
    assert first == third == {"detail": {"error_type": "engine_error", "message": message}}
    assert second["error"] == {"code": "engine_error", "message": message}


@pytest.mark.parametrize(
    ("request_bytes", "status", "code"),
    [
        (b"GET /ping HTTP/1.1\r\nHost: x\r\nX-Long: %s\r\n\r\n" % (b"a" * 70_000), 431, "head_too_large"),
        (b"GET /ping HTTP/1.1\r\nHost: x\r\nX-Endless: %s" % (b"a" * 400_000), 431, "head_too_large"),
        (b"GET /ping?%s HTTP/1.1\r\nHost: x\r\n\r\n" % (b"a" * 70_000), 431, "head_too_large"),
        (b"NONSENSE\r\n\r\n", 400, "invalid_request"),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400, "invalid_request"),  # TLS
        (b"POST /invocations HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n", 400, "invalid_request"),
        (b"POST /invocations HTTP/1.1\r\nHost: x\r\nContent-Length: 1e3\r\n\r\n", 400, "invalid_request"),
    ],
    ids=["header", "endless header", "query", "method", "tls", "negative length", "no length"],
)
@pytest.mark.parametrize("answered_before", [0, 1])
def test_a_head_that_is_too_large_or_no_http_gets_its_error_in_json(
    start_server: StartServer, request_bytes: bytes, status: int, code: str, answered_before: int
) -> None:
    server = start_server()
    with socket.create_connection(("127.0.0.1", server.port), 30) as connection:
        for _ in range(answered_before):
            connection.sendall(b"GET /ping HTTP/1.1\r\nHost: x\r\n\r\n")
            answer = http.client.HTTPResponse(connection)
            answer.begin()
            answer.read()
        connection.sendall(request_bytes)
        response = http.client.HTTPResponse(connection)
        response.begin()
        assert (response.status, json.loads(response.read())["error"]["code"]) == (status, code)
    assert server.request("GET", "/ping").status == 200
