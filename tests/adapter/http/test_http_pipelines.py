"""Several requests on one connection, and clients that leave it in the middle."""

import socket
from collections.abc import Callable
from typing import Any

import pytest

from semif_adapter.http.protocol import MAX_PIPELINED, BoundedProtocol
from tests.adapter.http.conftest import Gate
from tests.support.machine.waiting import eventually
from tests.support.servers.raw_requests import CHUNKED, PING, received, reset

StartServer = Callable[..., Any]


def test_a_pipeline_is_answered_in_order_and_ends_at_its_bound(
    start_server: StartServer, scripted: Any
) -> None:
    server = start_server(scripted())
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as connection:
        connection.sendall(PING * 10_000)
        answers = received(connection)

    # How many wait behind the first depends on how the bytes arrive, and never on how many are sent.
    assert 1 <= answers.count(b"HTTP/1.1 200 OK") <= MAX_PIPELINED + 1
    assert b"HTTP/1.1 4" not in answers
    assert server.request("GET", "/ping").status == 200


def test_a_short_pipeline_gets_all_of_its_answers(start_server: StartServer, scripted: Any) -> None:
    server = start_server(scripted())
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as connection:
        connection.sendall(
            PING * (MAX_PIPELINED - 1) + PING.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
        )

        assert received(connection).count(b"HTTP/1.1 200 OK") == MAX_PIPELINED


@pytest.mark.parametrize("at_once", [True, False])
@pytest.mark.parametrize(
    "broken",
    [
        b"\x00\x01 not HTTP\r\n\r\n",
        b"GET /ping HTTP/1.1\r\n\r\n",
        b"POST /invocations HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\nno size\r\n",
        b"POST /invocations HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n{",  # and no more
    ],
)
def test_what_breaks_behind_a_request_does_not_take_its_answer(
    start_server: StartServer,
    scripted: Any,
    gate: Gate,
    decision: dict[str, Any],
    broken: bytes,
    at_once: bool,
) -> None:
    server = start_server(scripted(gate))
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as connection:
        connection.sendall(server.post({"decision": decision}) + (broken if at_once else b""))
        assert gate.entered.acquire(timeout=30)
        connection.sendall(b"" if at_once else broken)
        connection.shutdown(socket.SHUT_WR)
        assert server.request("GET", "/ping").status == 200  # what was sent has been looked at
        gate.open()
        answer = received(connection)

    assert answer.startswith(b"HTTP/1.1 200 OK")
    assert answer.count(b"HTTP/1.1 ") == 1


@pytest.mark.parametrize("pipelined", [0, 3])
def test_a_client_that_closes_its_side_gets_its_answers(
    start_server: StartServer, scripted: Any, gate: Gate, decision: dict[str, Any], pipelined: int
) -> None:
    server = start_server(scripted(gate))
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as connection:
        connection.sendall(server.post({"decision": decision}) + PING * pipelined)
        connection.shutdown(socket.SHUT_WR)
        assert gate.entered.acquire(timeout=30)
        gate.open()
        answers = received(connection)

    assert answers.count(b"HTTP/1.1 200 OK") == 1 + pipelined


def close(connection: socket.socket) -> None:
    """As a program that ends: at first it looks as if only this side were closed."""
    connection.close()


MUCH = PING * MAX_PIPELINED + b"POST /invocations HTTP/1.1\r\nHost: a\r\nContent-Length: 200000\r\n\r\n"
PIPELINES = {
    "none": (b"", b""),
    "at once": (PING, b""),
    "later": (b"", PING),
    "half a request": (CHUNKED + b"2\r\n{}", b""),
    "half a request later": (b"", CHUNKED + b"2\r\n{}"),
    "more than is read": (b"", MUCH + b" " * 100_000),
    "no request": (b"", b"\x00\r\n\r\n"),
}
"""What comes behind a request: with it, and while it is being answered."""


@pytest.mark.parametrize("pipeline", PIPELINES)
@pytest.mark.parametrize("leave", [close, reset])
@pytest.mark.parametrize("version", [b"1.1", b"1.0"])
def test_a_client_that_is_gone_is_not_computed_for(
    start_server: StartServer,
    scripted: Any,
    gate: Gate,
    decision: dict[str, Any],
    version: bytes,
    leave: Callable[[socket.socket], None],
    pipeline: str,
) -> None:
    server = start_server(scripted(gate))
    at_once, later = PIPELINES[pipeline]
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as connection:
        request = server.post({"decision": decision}).replace(b"HTTP/1.1", b"HTTP/" + version)
        connection.sendall(request + at_once)
        assert gate.entered.acquire(timeout=30)
        connection.sendall(later)
        assert server.request("GET", "/ping").status == 200  # it has been read
        leave(connection)
        assert server.engine.abandoned.wait(30)
    gate.open()
    eventually(lambda: b'semif_requests_total{status="4xx"} 1' in server.request("GET", "/metrics").body)


@pytest.mark.parametrize("at_once", [True, False])
def test_no_more_of_a_pipeline_is_read_than_waits(
    start_server: StartServer, scripted: Any, gate: Gate, decision: dict[str, Any], at_once: bool
) -> None:
    """Its connection is looked at, and not read from, while a request is being answered."""
    opened: list[BoundedProtocol] = []

    class Watched(BoundedProtocol):
        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            opened.append(self)

    server = start_server(scripted(gate), protocol=Watched)
    endless = b"POST /invocations HTTP/1.1\r\nHost: a\r\nContent-Length: 100000000\r\n\r\n" + b" " * 1_000_000
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as connection:
        request = server.post({"decision": decision})
        connection.sendall(request + endless if at_once else request)
        assert gate.entered.acquire(timeout=30)
        connection.settimeout(0.5)
        with pytest.raises(TimeoutError):
            connection.sendall(endless * 100)
        assert server.request("GET", "/ping").status == 200
        assert 0 < sum(len(waiting.body) for waiting, _ in opened[0].pipeline) < 1_000_000
        gate.open()
