"""What clients may do to a connection: pipeline, offer an upgrade, break in the middle, reset."""

import gc
import socket
import struct
import threading
import weakref
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import pytest

from semif_adapter.http import connections, protocol
from semif_adapter.http.protocol import MAX_PIPELINED, BoundedProtocol
from tests.adapter.http.conftest import Gate
from tests.support.machine.waiting import eventually

PING = b"GET /ping HTTP/1.1\r\nHost: a\r\n\r\n"
LAST_PING = b"GET /ping HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
CHUNKED = (
    b"POST /invocations HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n"
)
StartServer = Callable[..., Any]


def received(connection: socket.socket) -> bytes:
    """All that comes until the server closes, but interim responses."""
    data = b""
    while chunk := connection.recv(65_536):
        data += chunk
    return data.replace(b"HTTP/1.1 100 Continue\r\n\r\n", b"")


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


def reset(connection: socket.socket) -> None:
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
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
            for _ in range(100):
                connection.sendall(endless)
        assert server.request("GET", "/ping").status == 200
        assert 0 < sum(len(waiting.body) for waiting, _ in opened[0].pipeline) < 1_000_000
        gate.open()


@pytest.mark.parametrize(
    "head",
    [
        b"GET /ping HTTP/1.1",
        b"GET /ping HTTP/1.1\r\nHost: a\r\nHost: a",
        b"GET /ping HTTP/1.0\r\nHost: a\r\nhost: b",
        b"GET /ping HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: h2c",
    ],
)
def test_a_request_names_one_host(start_server: StartServer, head: bytes) -> None:
    server = start_server()
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as connection:
        connection.sendall(head + b"\r\n\r\n" + PING)
        answers = received(connection)
    assert answers.startswith(b"HTTP/1.1 400 ")
    assert answers.count(b"HTTP/1.1 ") == 1


def test_http_1_0_needs_no_host_and_is_not_taken_for_1_1(start_server: StartServer) -> None:
    server = start_server()
    for offer in (b"", b"Connection: Upgrade\r\nUpgrade: h2c\r\n"):
        with socket.create_connection(("127.0.0.1", server.port), timeout=30) as connection:
            connection.sendall(b"GET /ping HTTP/1.0\r\n" + offer + b"\r\n")
            answers = received(connection)  # the server closes
        assert answers.startswith(b"HTTP/1.1 200 OK")


@pytest.mark.parametrize("version", [b"0.9", b"2.0", b"1.2"])
def test_other_versions_are_refused(start_server: StartServer, version: bytes) -> None:
    """Others read their bodies' ends in other ways, and take no interim response."""
    server = start_server()
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as connection:
        connection.sendall(CHUNKED.replace(b"1.1", version) + b"2\r\n{}\r\n0\r\n\r\n" + PING)
        answers = received(connection)
    assert answers.startswith(b"HTTP/1.1 400 ")
    assert answers.count(b"HTTP/1.1 ") == 1


@pytest.mark.parametrize("leave_open", [True, False])
def test_no_interim_response_goes_to_http_1_0(
    start_server: StartServer, scripted: Any, decision: dict[str, Any], leave_open: bool
) -> None:
    """It has none: such a client takes it for its answer (RFC 9110, sections 10.1.1 and 15.2)."""
    server = start_server(scripted())
    request = server.post({"decision": decision}).replace(b"HTTP/1.1", b"HTTP/1.0")
    head, _, body = request.partition(b"\r\n\r\n")
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as connection:
        connection.sendall(head + b"\r\nExpect: 100-continue\r\n\r\n")
        assert server.request("GET", "/ping").status == 200  # it has been read
        connection.sendall(body)
        if leave_open:
            assert connection.recv(15) == b"HTTP/1.1 200 OK"
        else:
            connection.shutdown(socket.SHUT_WR)
            assert connection.recv(15) in (b"", b"HTTP/1.1 200 OK")


@pytest.mark.parametrize("sent", [b"", b"\r\n", PING[:9]])
def test_an_idle_connection_ends_whatever_is_no_request(
    start_server: StartServer, scripted: Any, monkeypatch: pytest.MonkeyPatch, sent: bytes
) -> None:
    """Empty lines before a request are passed over (RFC 9112, section 2.2): they begin none."""
    monkeypatch.setattr(protocol, "HEAD_SECONDS", 1.0)

    class Impatient(BoundedProtocol):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            self.timeout_keep_alive = 1

    server = start_server(scripted(), protocol=Impatient)
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as connection:
        connection.sendall(PING)
        assert connection.recv(15) == b"HTTP/1.1 200 OK"
        connection.sendall(sent)
        answers = received(connection)
    assert answers.count(b"HTTP/1.1 408 ") == (sent == PING[:9])


@pytest.mark.parametrize(
    "framing",
    [
        b"Transfer-Encoding: gzip, chunked",
        b"Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked",
        b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
        b"Transfer-Encoding: chunked, gzip",
        b"Transfer-Encoding: , chunked",
        b"Transfer-Encoding: identity",
        b"Transfer-Encoding: xchunked",
        b"Transfer-Encoding: chunked;q=1",
        b"Transfer-Encoding:",
        b"Transfer-Encoding : chunked",
        b"Transfer-Encoding: chunked\r\nContent-Length: 4",
        b"Content-Length: 4\r\nTransfer-Encoding: chunked",
        b"Content-Length: 4\r\nContent-Length: 5",
        b"Content-Length: 4, 4",
        b"Content-Length: +4",
        b"Transfer-Encoding: \r\n chunked",
    ],
)
@pytest.mark.parametrize("version", [b"1.1", b"1.0"])
def test_a_body_whose_end_others_could_see_elsewhere_ends_the_connection(
    start_module_server: StartServer, framing: bytes, version: bytes
) -> None:
    server = start_module_server()
    head = b"POST /invocations HTTP/" + version + b"\r\nHost: a\r\nContent-Type: application/json\r\n"
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as connection:
        connection.sendall(head + framing + b"\r\n\r\n4\r\n{}{}\r\n0\r\n\r\n" + PING)
        answers = received(connection)
    assert answers.startswith(b"HTTP/1.1 400 ")
    assert answers.count(b"HTTP/1.1 ") == 1


def test_a_chunked_body_over_http_1_0_ends_the_connection(start_server: StartServer) -> None:
    server = start_server()
    head = (
        b"POST /invocations HTTP/1.0\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as connection:
        connection.sendall(head + b"2\r\n{}\r\n0\r\n\r\n" + PING)
        answers = received(connection)
    assert answers.startswith(b"HTTP/1.1 400 ")
    assert answers.count(b"HTTP/1.1 ") == 1


@pytest.mark.parametrize(
    "endless",
    [
        b"0\r\n" + b"X-Trailer: %s\r\n" % (b"a" * 1000) * 2000,
        b"0\r\nX-Trailer: " + b"a" * 2_000_000,
        b"2;x=" + b"a" * 2_000_000,
        b"0" * 2_000_000,
    ],
    ids=["trailers", "one trailer", "extension of a chunk", "size of a chunk"],
)
def test_what_a_body_has_beside_its_bytes_is_bounded(start_server: StartServer, endless: bytes) -> None:
    """Trailers were kept as headers: two gigabytes in five seconds."""
    server = start_server()
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as connection:
        connection.sendall(CHUNKED + b"2\r\n{}\r\n")
        connection.sendall(endless)
        answers = received(connection)

    assert answers.startswith(b"HTTP/1.1 4")
    assert answers.count(b"HTTP/1.1 ") == 1
    assert b'"invalid_request"' in answers or b'"head_too_large"' in answers


def test_trailers_change_nothing(start_server: StartServer, scripted: Any, decision: dict[str, Any]) -> None:
    """The head has decided (RFC 9110, section 6.5.1); what guards the server has seen no more than that."""
    server = start_server(scripted())
    body = server.post({"decision": decision}).partition(b"\r\n\r\n")[2]
    trailers = b"Content-Encoding: gzip\r\nHost: b\r\nAuthorization: Bearer x\r\n"
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as connection:
        connection.sendall(CHUNKED + b"%x\r\n%s\r\n0\r\n%s\r\n" % (len(body), body, trailers) + LAST_PING)
        answers = received(connection)

    assert answers.count(b"HTTP/1.1 200 OK") == 2


def test_a_body_of_many_small_chunks_is_taken(
    start_server: StartServer, scripted: Any, decision: dict[str, Any]
) -> None:
    """What frames its chunks is more than the bound of a head, and comes with bytes of the body."""
    server = start_server(scripted())
    body = server.post({"decision": decision | {"state": "a" * 20_000}}).partition(b"\r\n\r\n")[2]
    chunks = b"".join(b"1\r\n%c\r\n" % byte for byte in body)
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as connection:
        connection.sendall(CHUNKED + chunks + b"0\r\n\r\n" + LAST_PING)
        answers = received(connection)

    assert answers.count(b"HTTP/1.1 200 OK") == 2


@pytest.mark.parametrize("at_once", [True, False])
def test_an_upgrade_that_a_client_offers_is_passed_over(
    start_server: StartServer, scripted: Any, decision: dict[str, Any], at_once: bool
) -> None:
    """As Java's default client and `curl --http2` send it."""
    server = start_server(scripted())
    offer = (
        b"Connection: Upgrade, HTTP2-Settings",
        b"Upgrade: h2c",
        b"HTTP2-Settings: AAMAAABkAAQAoAAAAAIAAAAA",
    )
    head, _, body = server.post({"decision": decision}).partition(b"\r\n\r\n")
    head += b"".join(b"\r\n" + line for line in offer) + b"\r\n\r\n"
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for part in [head + body] if at_once else [head, body[:5], body[5:]]:
            connection.sendall(part)
        connection.sendall(LAST_PING)

        assert received(connection).count(b"HTTP/1.1 200 OK") == 2


def test_a_connection_that_was_reset_keeps_nothing(
    start_server: StartServer, scripted: Any, decision: dict[str, Any]
) -> None:
    ended: list[weakref.ref[BoundedProtocol]] = []
    lost = threading.Event()

    class Watched(BoundedProtocol):
        def connection_lost(self, exc: Exception | None) -> None:
            super().connection_lost(exc)
            if exc is not None:
                ended.append(weakref.ref(self))
                lost.set()

    server = start_server(scripted(), protocol=Watched)
    connection = socket.create_connection(("127.0.0.1", server.port), timeout=30)
    connection.sendall(server.post({"decision": decision}))
    assert connection.recv(65_536).startswith(b"HTTP/1.1 200 OK")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()  # a reset
    assert lost.wait(30)
    assert server.request("GET", "/ping").status == 200
    gc.collect()

    assert [one() for one in ended] == [None]


@pytest.mark.parametrize("end", [b"", LAST_PING])
def test_a_connection_whose_answers_nobody_reads_does_not_stay(
    start_server: StartServer, scripted: Any, monkeypatch: pytest.MonkeyPatch, end: bytes
) -> None:
    """2,048 of them, waiting to be closed for ever, would leave no room for a ping."""
    monkeypatch.setattr(protocol, "REPLY_SECONDS", 0.1)
    lost = threading.Event()

    class Watched(BoundedProtocol):
        def connection_lost(self, exc: Exception | None) -> None:
            super().connection_lost(exc)
            lost.set()

    server = start_server(scripted(), protocol=Watched)
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        connection.connect(("127.0.0.1", server.port))
        connection.sendall(PING.replace(b"/ping", b"/openapi.json") * (MAX_PIPELINED - 1) + end)
        assert lost.wait(30)


def test_idle_connections_make_room_for_new_ones(
    start_server: StartServer,
    scripted: Any,
    gate: Gate,
    decision: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Four hundred idle sockets on a process with few files killed its ping."""
    monkeypatch.setattr(connections, "MAX_CONNECTIONS", 4)
    server = start_server(scripted(gate))
    with ExitStack() as opened:

        def connect() -> socket.socket:
            return opened.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=30))

        working = connect()
        working.sendall(server.post({"decision": decision}))
        assert gate.entered.acquire(timeout=30)
        idle = [connect() for _ in range(10)]
        assert server.request("GET", "/ping").status == 200
        assert [connection.recv(1) for connection in idle[:7]] == [b""] * 7
        gate.open()
        assert working.recv(15) == b"HTTP/1.1 200 OK"
