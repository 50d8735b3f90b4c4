"""What goes in: bodies good and bad, over real HTTP. The engine is scripted; nothing here needs weights."""

import json
import re
import socket
from collections.abc import Callable
from typing import Any

import pytest

from semif_adapter.http.server import listen

START_REFUSED = b"POST /invocations HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
SECRET = "Orchideenwasser"
"""Stands for the caller's text, which no error may show."""

Server = Any
StartServer = Callable[..., Server]
Document = dict[str, Any]


@pytest.fixture(scope="module")
def server(start_module_server: StartServer) -> Server:
    return start_module_server()


def chunked(body: bytes, size: int) -> bytes:
    pieces = (body[at : at + size] for at in range(0, len(body), size))
    return b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"


def test_a_decision_is_answered_schema_first(server: Server, decision: Document) -> None:
    reply = server.ask({"decision": decision})
    assert reply.status == 200
    assert reply.headers["content-type"] == "application/json"
    assert list(reply.json) == ["result"]
    assert reply.json["result"]["id"] == "d"
    assert reply.json["result"]["option_ids"] == ["refund", "sales"]
    assert server.engine.calls[-1][1] == "schema-first"


def test_decisions_are_answered_state_first_in_order(server: Server, decision: Document) -> None:
    reply = server.ask({"decisions": [decision | {"id": "z"}, decision | {"id": "a"}]})
    assert reply.status == 200
    assert [result["id"] for result in reply.json["results"]] == ["z", "a"]
    assert reply.json["timing"]["batch_size"] == 2
    assert server.engine.calls[-1][1] == "state-first"


@pytest.mark.parametrize(
    "state", ["text", "\N{CJK UNIFIED IDEOGRAPH-6C34} \N{PILE OF POO}", {"a": [1, None]}, [{}]]
)
def test_a_state_is_text_an_object_or_an_array(server: Server, decision: Document, state: object) -> None:
    assert server.ask({"decision": decision | {"state": state}}).status == 200
    assert server.engine.calls[-1][0][0].state == state


def test_a_megabyte_in_seven_byte_chunks_is_read_whole(server: Server, decision: Document) -> None:
    state = "x" * 1_000_000
    body = json.dumps({"decision": decision | {"state": state}}).encode()
    head = START_REFUSED + b"Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
    status, reply = server.raw(head + chunked(body, 7))
    assert status == 200
    assert json.loads(reply)["result"]["id"] == "d"
    assert server.engine.calls[-1][0][0].state == state


def test_two_lengths_for_one_body_are_refused(server: Server, decision: Document) -> None:
    body = chunked(json.dumps({"decision": decision}).encode(), 7)
    head = START_REFUSED + b"Transfer-Encoding: chunked\r\nContent-Length: %d\r\n\r\n" % len(body)
    assert server.raw(head + body)[0] == 400


def test_a_replys_body_does_not_wait_for_the_acknowledgement_of_its_head() -> None:
    with listen("127.0.0.1", 0) as listener, socket.create_connection(listener.getsockname()):
        connection, _ = listener.accept()
        with connection:
            assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) != 0


def test_every_reply_has_a_length_and_is_not_chunked(server: Server, decision: Document) -> None:
    replies = [
        server.ask({"decision": decision}),
        server.ask(b"{}"),
        server.request("GET", "/ping"),
        server.request("HEAD", "/ping"),
        server.request("GET", "/"),
        server.request("PUT", "/invocations", b"{}"),
        server.request("POST", "/invocations", b"{}", {"content-type": "text/csv"}),
    ]
    assert [reply.status for reply in replies] == [200, 400, 200, 200, 404, 405, 415]
    for reply in replies:
        assert "transfer-encoding" not in reply.headers
        assert reply.body == b"" or int(reply.headers["content-length"]) == len(reply.body)
        assert reply.headers["content-type"] == "application/json"
    assert replies[5].headers["allow"] == "POST"


EMPTY_BODIES = [
    b"",
    b" ",
    b"\0",
    b"null",
    b"[]",
    b"{}",
    b'"text"',
    b"1",
    b'{"decision":null}',
    b'{"decisions":[]}',
]
BAD_ENCODINGS = [
    b'{"decision":"\xb0\xa1"}',
    '{"decision":{}}'.encode("utf-16"),
    '{"decision":{}}'.encode("utf-16-le"),
    b'\xef\xbb\xbf{"decision":{}}',  # a byte order mark
]
BAD_JSON = [
    b"{",
    b"{'decision':{}}",
    b'{"decision":{},}',
    b'{"decision":{}} {}',
    b"[" * 100_000,
    b'{"a":' * 5000,
]
NOT_FINITE = [b"NaN", b"Infinity", b"-Infinity", b"1e999", b"-1e999", b"[[1e400]]", b"1" * 5000]


@pytest.mark.parametrize("body", [*EMPTY_BODIES, *BAD_ENCODINGS, *BAD_JSON], ids=lambda body: repr(body[:16]))
def test_what_is_no_request_is_the_clients_error(server: Server, body: bytes) -> None:
    reply = server.ask(body)
    assert reply.status == 400
    assert reply.json["error"]["code"] == "invalid_request"
    assert reply.json["retryable"] is False
    assert server.request("GET", "/ping").status == 200


@pytest.mark.parametrize("number", NOT_FINITE, ids=lambda number: repr(number[:10]))
def test_numbers_that_are_not_finite_are_refused(server: Server, number: bytes) -> None:
    body = (
        b'{"decision":{"id":"d","state":{"n":%s},"question":"q","options":[{"id":"a"},{"id":"b"}]}}' % number
    )
    assert server.ask(body.replace(number, b"1.5")).status == 200
    reply = server.ask(body)
    assert reply.status == 400
    assert "number" in reply.json["error"]["message"]


def test_both_of_two_equal_keys_are_refused_and_named(server: Server) -> None:
    reply = server.ask(
        b'{"decision":{"id":"a","id":"b","state":{"k":1,"k":2},"question":"q","options":[],"options":[]}}'
    )
    assert reply.status == 400
    message = reply.json["error"]["message"]
    assert reply.json["error"]["path"] == "decision.id"
    for path in ("decision.id ", "decision.options ", "decision.state.#1 "):
        assert path in message


@pytest.mark.parametrize("place", ["id", "state", "question", "option", "key"])
def test_lone_surrogates_are_refused_where_they_are(server: Server, decision: Document, place: str) -> None:
    bad = f"{SECRET}\ud800"
    change: dict[str, Any] = {
        "option": {"options": [{"id": "a"}, {"id": "b", "description": bad}]},
        "key": {"state": {bad: 1}},
    }.get(place, {place: bad})
    reply = server.ask(json.dumps({"decision": decision | change}).encode())
    assert reply.status == 400
    assert "unpaired surrogate" in reply.json["error"]["message"]
    assert SECRET.encode() not in reply.body


def test_all_problems_are_reported_by_path_and_type_without_the_callers_text(
    server: Server, decision: Document
) -> None:
    bad: Document = {
        "id": 5,
        "state": "",
        SECRET: SECRET,
        "options": [{"id": "a", SECRET: 1}, SECRET, {"id": "x" * 257, "description": ""}],
    }
    reply = server.ask({"decisions": [decision, bad], SECRET: 1})
    assert reply.status == 400
    assert reply.json["error"]["path"] == "decisions[1].id"
    problems = reply.json["error"]["message"].split("; ")
    assert problems == [
        "decisions[1].id must be a string, got a number",
        "decisions[1].state must be a non-empty string, object or array, got an empty one",
        "decisions[1].question is missing",
        "decisions[1].options[0].#1 is not a key of this object, allowed are id, description",
        "decisions[1].options[1] must be an object, got a string",
        "decisions[1].options[2].id must have at most 256 characters, got 257",
        "decisions[1].options[2].description must not be empty",
        "decisions[1].#2 is not a key of this object, allowed are id, state, question, options",
        "#1 is not a key of this object, allowed are decisions, parameters",
    ]


@pytest.mark.parametrize(("count", "status"), [(1, 400), (2, 200), (255, 200), (256, 400)])
def test_a_question_has_2_to_255_options(server: Server, decision: Document, count: int, status: int) -> None:
    options = [{"id": str(number)} for number in range(count)]
    reply = server.ask({"decision": decision | {"options": options}})
    assert reply.status == status
    if status == 400:
        assert reply.json["error"]["path"] == "decision.options"


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"question": " \n"}, "decision.question must not be blank"),
        ({"id": "\t"}, "decision.id must not be blank"),
        ({"options": [{"id": "\u2003"}, {"id": "b"}]}, "decision.options[0].id must not be blank"),
        (
            {"options": [{"id": "a"}, {"id": "b", "description": "  "}]},
            "decision.options[1].description must not be blank",
        ),
        (
            {"options": [{"id": "a", "description": f"{SECRET} "}, {"id": "b", "description": SECRET}]},
            "decision.options[1].description must not say the same as decision.options[0]",
        ),
        (
            {"options": [{"id": "a"}, {"id": "b", "description": SECRET}, {"id": f" {SECRET}"}]},
            "decision.options[2].id must not say the same as decision.options[1]",
        ),
    ],
)
def test_what_says_nothing_or_the_same_is_refused(
    server: Server, decision: Document, change: Document, problem: str
) -> None:
    reply = server.ask({"decision": decision | change})
    assert (reply.status, reply.json["error"]["message"]) == (400, problem)


def test_ids_are_unique(server: Server, decision: Document) -> None:
    twice = decision | {"options": [{"id": "a"}, {"id": "b"}, {"id": "a"}]}
    assert server.ask({"decision": twice}).json["error"]["path"] == "decision.options[2].id"
    message = server.ask({"decisions": [decision, decision, twice]}).json["error"]["message"]
    assert "decisions[1].id must be unique, decisions[0].id is the same" in message
    assert "decisions[2].options[2].id must be unique, decisions[2].options[0].id is the same" in message


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("a", "b"),
        ("1", [1]),
        ({"n": 1}, {"n": 1.0}),
        ({"n": 1}, {"n": True}),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
    ],
)
def test_decisions_share_one_exact_state(server: Server, decision: Document, first: Any, second: Any) -> None:
    reply = server.ask({"decisions": [decision | {"state": first}, decision | {"id": "e", "state": second}]})
    assert reply.status == 400
    assert reply.json["error"]["path"] == "decisions[1].state"


def test_decisions_are_limited(start_server: StartServer, decision: Document) -> None:
    server = start_server(max_decisions=2)
    decisions = [decision | {"id": str(number)} for number in range(3)]
    assert server.ask({"decisions": decisions[:2]}).status == 200
    reply = server.ask({"decisions": decisions})
    assert reply.status == 400
    assert reply.json["error"]["message"] == "decisions must hold at most 2, got 3"


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"messages": []}, "text deployment"),
        ({"questions": {}, "decisions": []}, "got decisions and questions"),
        ({"decision": {}, "decisions": []}, "got decision and decisions"),
        ({"decision": {}, "messages": []}, "got decision and messages"),
        ({"prompt": SECRET}, "got none of them"),
    ],
)
def test_a_body_has_exactly_one_form(server: Server, body: Document, said: str) -> None:
    reply = server.ask(body)
    assert reply.status == 400
    assert said in reply.json["error"]["message"]
    assert SECRET.encode() not in reply.body


@pytest.mark.parametrize("nested", ['{"a":', "["])
def test_nesting_is_bounded(server: Server, decision: Document, nested: str) -> None:
    def body(depth: int) -> bytes:
        close = "}" if nested.startswith("{") else "]"
        state = nested * depth + "1" + close * depth
        return json.dumps({"decision": decision | {"state": "STATE"}}).replace('"STATE"', state).encode()

    assert server.ask(body(60)).status == 200
    reply = server.ask(body(70))
    assert reply.status == 400
    assert reply.json["error"]["message"] == "the body is nested deeper than 64 levels"


@pytest.mark.parametrize("piece", ["1,", "[],", '{"a":1},', '"é",'])
def test_values_are_bounded_before_they_are_made(server: Server, decision: Document, piece: str) -> None:
    def body(count: int) -> bytes:
        state = f"[{piece * count}1]"
        return json.dumps({"decision": decision | {"state": "STATE"}}).replace('"STATE"', state).encode()

    assert server.ask(body(1000)).status == 200
    reply = server.ask(body(200_000))
    assert reply.status == 400
    assert reply.json["error"]["message"] == "the body has more than 200000 commas and opening brackets"


WRONG = b",".join([b"0"] * 6000)
NAMED = b",".join(b'"k%d": 0' % number for number in range(6000))


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/invocations", b'{"decisions": [' + WRONG + b"]}"),
        ("/invocations", b'{"decision": {' + NAMED + b"}}"),
        ("/invocations", b'{"decision": {"options": [' + WRONG + b"]}}"),
        ("/invocations", b'{"state": "s", "questions": {' + NAMED + b"}}"),
        ("/v1/systemone", b'{"questions": {"q": {"type": "choice", "criteria": {' + NAMED + b"}}}}"),
        ("/v1/decisions", b'{"input": "i", "questions": [' + WRONG + b"]}"),
        ("/v1/decisions", b'{"input": [' + WRONG + b"]}"),
        ("/v1/decisions", b'{"input": [{"role": "user", "content": [' + WRONG + b"]}]}"),
    ],
)
def test_problems_are_counted_where_they_are_too_many_to_name(server: Server, path: str, body: bytes) -> None:
    """Hundreds of thousands of them took seconds, in which no ping was answered."""
    reply = server.request("POST", path, body, {"content-type": "application/json"})

    assert reply.status == (422 if b'"questions": {' in body else 400)
    assert re.search(rb"has \d+ problems, too many to name", reply.body)
    assert b"k1" not in reply.body


@pytest.mark.parametrize("announced", [True, False], ids=["content-length", "chunked"])
@pytest.mark.parametrize("size", [4_194_305, 6_291_456, 20_000_000])
def test_a_body_beyond_the_limit_gets_413_and_never_a_reset(
    server: Server, size: int, announced: bool
) -> None:
    body = b" " * size
    # With `Connection: close` a server that closed before the client has sent everything would reset.
    headers = {"content-type": "application/json", "connection": "close"}
    reply = server.request("POST", "/invocations", body if announced else iter([body]), headers)
    assert reply.status == 413
    assert reply.json["error"] == {
        "code": "body_too_large",
        "message": "the body is larger than the limit of 4194304 bytes",
    }


def test_a_body_at_the_limit_is_read(start_server: StartServer, decision: Document) -> None:
    body = json.dumps({"decision": decision}).encode().ljust(1024)
    server = start_server(max_body_bytes=1024)
    assert server.ask(body).status == 200
    assert server.ask(body + b" ").status == 413


@pytest.mark.parametrize(
    ("content_type", "status"),
    [
        ("application/json", 200),
        ("Application/JSON; Charset=UTF-8", 200),
        ('application/json; charset="utf-8"', 200),
        ("application/json ;", 200),  # a list of parameters may have empty places (RFC 9110, section 5.6.6)
        ("application/json;; charset=utf-8 ; ", 200),
        ("application/json; charset=", 415),
        ("application/json; charset=utf-16", 415),
        ("application/jsonlines", 200),  # one line, as a transform job sends it
        ("text/csv", 415),
        ("application/x-www-form-urlencoded", 415),
        ("", 415),
    ],
)
def test_only_json_is_read(server: Server, decision: Document, content_type: str, status: int) -> None:
    body = json.dumps({"decision": decision}).encode()
    reply = server.request("POST", "/invocations", body, {"content-type": content_type})
    assert reply.status == status
