"""The Decisions API over real HTTP: its requests, its answers, its errors. The engine is scripted."""

import json
from collections.abc import Callable
from typing import Any

import pytest

SECRET = "Orchideenwasser"
KEY = "a-key-for-tests"
BOTH_ROUTES = pytest.mark.parametrize("path", ["/v1/decisions", "/invocations"])

Server = Any
StartServer = Callable[..., Server]
Document = dict[str, Any]

PREDICATE: Document = {"type": "predicate", "instructions": "It is so."}
CHOICE: Document = {
    "type": "choice",
    "name": "which",
    "instructions": "?",
    "choices": [{"value": "true"}, {"value": True}, {"value": "b", "description": "second"}],
}
SCORE: Document = {"type": "score", "instructions": "?", "levels": [{"label": "low"}, {"label": "high"}]}


@pytest.fixture(scope="module")
def server(start_module_server: StartServer) -> Server:
    return start_module_server()


def asked(*questions: Any, **others: Any) -> Document:
    return {"model": "gpt-6-luna", "input": "The lamp is on.", "questions": questions} | others


def post(server: Server, body: Any, path: str = "/v1/decisions", **headers: str) -> Any:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return server.request("POST", path, content, {"content-type": "application/json"} | headers)


def error(reply: Any, status: int) -> Document:
    assert reply.status == status, reply.body
    assert SECRET.encode() not in reply.body
    assert set(reply.json) == {"error"}
    assert set(reply.json["error"]) == {"message", "type", "param", "code"}
    found: Document = reply.json["error"]
    return found


@BOTH_ROUTES
def test_every_type_is_answered_in_its_place(server: Server, path: str) -> None:
    reply = post(server, asked(PREDICATE, CHOICE, SCORE, safety_identifier="u", prompt_cache_key="k"), path)

    assert reply.status == 200
    assert reply.json["model"] == "scripted"
    assert reply.json["usage"] == {
        "input_tokens": 3,
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens": 0,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 3,
    }
    predicate, choice, score = reply.json["answers"]
    extra = {"x_readout": "letters", "x_allowed_token_mass": 1.0, "x_calibration": None}
    assert predicate == {"type": "predicate", "name": None, "probability": 0.5} | extra
    third = pytest.approx(1 / 3)
    assert (
        choice
        == {
            "type": "choice",
            "name": "which",
            "choice": "true",
            "confidence": 0.0,
            "probabilities": [
                {"value": "true", "probability": third},
                {"value": True, "probability": third},
                {"value": "b", "probability": third},
            ],
        }
        | extra
    )
    assert (
        score
        == {
            "type": "score",
            "name": None,
            "score": 0.5,
            "confidence": 0.0,
            "probabilities": [
                {"label": "low", "value": 0, "probability": 0.5},
                {"label": "high", "value": 1, "probability": 0.5},
            ],
        }
        | extra
    )
    assert server.engine.calls[-1][1] == "state-first"


def test_what_is_wrong_is_told_in_openais_form(server: Server) -> None:
    wrong = asked(
        PREDICATE, input=[{"role": "user", "content": [{"type": "input_image", "image_url": SECRET}]}]
    )
    for path in ("/v1/decisions", "/invocations"):
        told = error(post(server, wrong, path), 400)
        assert told == {
            "message": "input[0].content[0] is an image, and this model reads text; "
            "describe it in an input_text",
            "type": "invalid_request_error",
            "param": "input[0].content[0]",
            "code": "invalid_request",
        }
    assert error(post(server, {"input": SECRET}, "/invocations"), 400)["param"] == "questions"
    assert error(post(server, b"{"), 400)["message"] == "the body is not JSON, see line 1 column 2"
    assert error(post(server, b"{}"), 400)["message"].startswith("model is missing; input is missing; ")


def test_on_invocations_the_forms_are_told_apart_by_what_the_questions_are_about(server: Server) -> None:
    system_one = {"questions": {"q": {"type": "noul", "instructions": "?"}}}
    for body in ({"state": "s"}, {"state": "s", "input": "ignored, as all of its unknown fields"}):
        assert "answers" in post(server, system_one | body, "/invocations").json
    assert post(server, system_one, "/invocations").status == 422
    assert (
        post(server, asked(PREDICATE, decision={}), "/invocations").json["error"]["code"] == "invalid_request"
    )
    for others in ({}, {"model": None}, {"model": "any"}):
        body = {"input": "s", "questions": [PREDICATE]} | others
        assert post(server, body, "/invocations").status == 200


@pytest.mark.parametrize("document", ['"input":[{"role":1,"role":2}]', '"questions":[{"type":1,"type":2}]'])
def test_a_repeated_key_of_the_wire_is_named_on_both_routes(server: Server, document: str) -> None:
    for path in ("/v1/decisions", "/invocations"):
        message = post(server, f"{{{document}}}".encode(), path).json["error"]["message"]
        assert message.endswith(
            (
                "[0].role is a key that came before in this object",
                "[0].type is a key that came before in this object",
            )
        )


def test_the_model_is_this_one_under_its_own_name_or_an_alias(
    server: Server, start_server: StartServer
) -> None:
    for name in ("scripted", "gpt-6-luna", "gpt-6-luna-2026-10-01"):
        assert post(server, asked(PREDICATE, model=name)).json["model"] == "scripted"
    for name in (SECRET, "", "gpt-6", "jev-latest"):
        told = error(post(server, asked(PREDICATE, model=name)), 404)
        assert (told["type"], told["param"], told["code"]) == (
            "invalid_request_error",
            "model",
            "model_not_found",
        )
    strict = start_server(model_aliases=False)
    assert error(post(strict, asked(PREDICATE)), 404)["code"] == "model_not_found"
    assert post(strict, asked(PREDICATE, model="scripted")).status == 200


def test_questions_are_limited(start_server: StartServer) -> None:
    server = start_server(max_decisions=2)
    assert post(server, asked(PREDICATE, PREDICATE)).status == 200
    told = error(post(server, asked(PREDICATE, PREDICATE, PREDICATE)), 400)
    assert told["message"] == "questions must hold at most 2, got 3"
    schema = server.request("GET", "/openapi.json").json["components"]["schemas"]["OpenAIDecisionRequest"]
    assert schema["properties"]["questions"]["maxItems"] == 2


def test_other_errors_have_openais_form_as_well(server: Server, start_server: StartServer) -> None:
    assert error(post(server, b"", **{"content-type": "text/csv"}), 415)["type"] == "invalid_request_error"
    assert error(server.request("GET", "/v1/decisions"), 405)["code"] == "method_not_allowed"
    assert error(post(server, b" " * 4_194_305), 413)["code"] == "body_too_large"
    locked = start_server(api_key=KEY)
    assert error(post(locked, asked(PREDICATE)), 401)["type"] == "authentication_error"
    assert post(locked, asked(PREDICATE), authorization=f"Bearer {KEY}").status == 200
    # The other routes of /v1/ keep theirs.
    assert set(post(server, b"{}", "/v1/systemone").json) == {"detail"}


def test_overload_says_when_to_come_back(start_server: StartServer) -> None:
    server = start_server(max_in_flight=1)
    with server.queue.admit(0.0):
        reply = post(server, asked(PREDICATE))
    told = error(reply, 429)
    assert (told["type"], told["code"]) == ("rate_limit_error", "overloaded")
    assert told["message"].endswith("; try again in 0.1 s")
    assert (reply.headers["retry-after"], reply.headers["retry-after-ms"]) == ("1", "100")


@BOTH_ROUTES
def test_an_answer_that_is_no_number_is_a_fault(start_server: StartServer, scripted: Any, path: str) -> None:
    server = start_server(scripted(before=fail))
    told = error(post(server, asked(PREDICATE), path), 500)
    assert (told["type"], told["code"]) == ("server_error", "engine_error")


def fail(_: Any) -> None:
    raise RuntimeError(SECRET)
