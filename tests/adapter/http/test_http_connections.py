"""What clients may do to a connection: frame bodies oddly, offer an upgrade, leave it idle, reset it."""

import gc
import socket
import threading
import weakref
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import pytest

from semif_adapter.http import connections, protocol
from semif_adapter.http.protocol import MAX_PIPELINED, BoundedProtocol
from tests.adapter.http.conftest import Gate
from tests.support.servers.raw_requests import CHUNKED, LAST_PING, PING, received, reset

StartServer = Callable[..., Any]


@pytest.fixture(scope="module")
def one_server(start_module_server: StartServer) -> Any:
    """For what leaves no trace in a server."""
    return start_module_server()


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
    one_server: Any, framing: bytes, version: bytes
) -> None:
    head = b"POST /invocations HTTP/" + version + b"\r\nHost: a\r\nContent-Type: application/json\r\n"
    with socket.create_connection(("127.0.0.1", one_server.port), timeout=30) as connection:
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
    reset(connection)
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
