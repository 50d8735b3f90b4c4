"""System One over real HTTP: its requests, its answers, its errors. The engine is scripted."""

import gzip
import json
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from semif_adapter.contract.settings import Settings
from semif_adapter.engine.engine import Engine

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

SECRET = "Orchideenwasser"
"""Stands for the caller's text, which no error may show."""
KEY = "a-key-for-tests"

Server = Any
StartServer = Callable[..., Server]
Document = dict[str, Any]

NOUL: Document = {"type": "noul", "instructions": "Is it so?"}
CHOICE: Document = {"type": "choice", "criteria": {"b": "second", "a": None}}
SCORE: Document = {"type": "score", "criteria": ["low", {"high": 1}]}


@pytest.fixture(scope="module")
def server(start_module_server: StartServer) -> Server:
    return start_module_server()


@pytest.fixture(scope="module")
def locked(start_module_server: StartServer) -> Server:
    return start_module_server(api_key=KEY)


def asked(questions: Any, **others: Any) -> Document:
    return {"model": "jev-latest", "state": "The lamp is on.", "questions": questions} | others


def post(server: Server, body: Any, path: str = "/v1/systemone", **headers: str) -> Any:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return server.request("POST", path, content, {"content-type": "application/json"} | headers)


def problems(reply: Any) -> list[tuple[list[str | int], str]]:
    assert reply.status == 422, reply.body
    assert SECRET.encode() not in reply.body
    assert all(problem["loc"][0] == "body" and problem["type"] for problem in reply.json["detail"])
    return [(problem["loc"][1:], problem["msg"]) for problem in reply.json["detail"]]


def fault(reply: Any) -> str:
    assert SECRET.encode() not in reply.body
    assert set(reply.json["detail"]) == {"error_type", "message"}
    return str(reply.json["detail"]["error_type"])


@pytest.mark.parametrize("path", ["/v1/systemone", "/invocations"])
def test_every_type_is_answered_under_its_own_id(server: Server, path: str) -> None:
    reply = post(server, asked({"z": NOUL, "a b": CHOICE, "s": SCORE}), path)

    assert reply.status == 200
    assert reply.json["model"] == "scripted"
    assert reply.json["usage"] == {"input_tokens": 3, "output_tokens": 0}
    assert list(reply.json["answers"]) == ["z", "a b", "s"]
    extra = {"x_readout": "letters", "x_allowed_token_mass": 1.0, "x_calibration": None}
    assert reply.json["answers"]["z"] == {"type": "noul", "noul": 0.5} | extra
    choice = {"choice": "b", "probabilities": {"b": 0.5, "a": 0.5}, "confidence": 0.0}
    assert reply.json["answers"]["a b"] == {"type": "choice"} | choice | extra
    score = {"score": 0.5, "probabilities": {"0": 0.5, "1": 0.5}, "confidence": 0.0}
    legend = {"legend": {"0": "low", "1": '{"high":1}'}}
    assert reply.json["answers"]["s"] == {"type": "score"} | score | legend | extra
    assert b'"confidence":0.0' in reply.body
    assert server.engine.calls[-1][1] == "state-first"


@pytest.mark.parametrize("state", ["text", {"a": [1, None]}, [{}]])
def test_a_state_is_text_an_object_or_an_array(server: Server, state: object) -> None:
    assert post(server, asked({"q": NOUL}, state=state)).status == 200
    assert server.engine.calls[-1][0][0].state == state


def test_what_the_engine_is_asked(server: Server) -> None:
    both = {"true": "it shines", "false": {"dark": True}}
    questions = {
        "plain": NOUL,
        "described": NOUL | {"criteria": both},
        "one-sided": NOUL | {"criteria": {"true": "it shines", "false": None}},
        "unasked": {"type": "noul", "criteria": both},
        "choice": CHOICE | {"instructions": ["Which", 1], "criteria": {"a_b": None, "c": "see"}},
        "score": SCORE,
    }
    assert post(server, asked(questions)).status == 200

    sent = server.engine.calls[-1][0]
    assert [question.id for question in sent] == list(questions)
    assert [question.text for question in sent] == [
        "Is it so?",
        "Is it so?",
        "Is it so?\nYes: it shines",
        "Is this so?",
        '["Which",1]',
        "Which of these levels fits best?",
    ]
    shown = [[(option.id, option.shown, option.spoken) for option in question.options] for question in sent]
    assert shown[0] == [("true", "Yes", "yes"), ("false", "No", "no")]
    assert shown[1] == [
        ("true", "Yes. it shines", "it shines"),
        ("false", 'No. {"dark":true}', '{"dark":true}'),
    ]
    assert shown[2] == [("true", "Yes. it shines", "yes"), ("false", "No", "no")]
    assert shown[4] == [("a_b", "a_b", "a b"), ("c", "c: see", "see")]
    assert shown[5] == [("0", "low", "low"), ("1", '{"high":1}', '{"high":1}')]


def test_unknown_fields_beside_the_request_are_ignored(server: Server) -> None:
    assert post(server, asked({"q": NOUL}, x_trace="a", seed=7, assets=None)).status == 200


WRONG: list[tuple[Any, list[str | int], str]] = [
    ([], [], "must be an object, got an array"),
    ({"state": "s", "questions": {"q": NOUL}}, ["model"], "is missing"),
    ({"model": "jev-latest", "questions": {"q": NOUL}}, ["state"], "is missing"),
    (asked({"q": NOUL}, state=""), ["state"], "must be a non-empty string, object or array"),
    (asked({"q": NOUL}, state=None), ["state"], "got null"),
    (
        asked({"q": NOUL}, state={}),
        ["state"],
        "must be a non-empty string, object or array, got an empty one",
    ),
    (
        asked({"q": NOUL}, state=[]),
        ["state"],
        "must be a non-empty string, object or array, got an empty one",
    ),
    (asked({}), ["questions"], "must hold at least 1, got 0"),
    (asked([NOUL]), ["questions"], "must be an object, got an array"),
    (asked({"": NOUL}), ["questions", "#0"], "must have a name that is not empty"),
    (asked({"q": NOUL, SECRET: SECRET}), ["questions", "#1"], "must be an object, got a string"),
    (
        asked({SECRET: {"kind": "noul", "text": "x"}}),
        ["questions", "#0", "type"],
        "is missing, allowed are noul",
    ),
    (asked({SECRET: {"type": SECRET}}), ["questions", "#0", "type"], "must be one of noul, choice, score"),
    (asked({"q": {"type": 1}}), ["questions", "#0", "type"], "got a number"),
    (asked({"q": {"type": "box"}}), ["questions", "#0", "type"], "box needs an image"),
    (asked({"q": NOUL}, assets={"a": {}}), ["assets"], "are not supported"),
    (asked({"q": NOUL | {"instruction": "x"}}), ["questions", "#0", "#2"], "is not a key of this object"),
    (
        asked({"q": NOUL | {"instructions": 5}}),
        ["questions", "#0", "instructions"],
        "must be a string, an object or",
    ),
    (asked({"q": {"type": "noul"}}), ["questions", "#0"], "must have instructions or criteria"),
    (
        asked({"q": NOUL | {"criteria": []}}),
        ["questions", "#0", "criteria"],
        "must be an object, got an array",
    ),
    (asked({"q": NOUL | {"criteria": {"true": 1}}}), ["questions", "#0", "criteria", "true"], "got a number"),
    (asked({"q": {"type": "choice"}}), ["questions", "#0", "criteria"], "is missing"),
    (asked({"q": CHOICE | {"criteria": {}}}), ["questions", "#0", "criteria"], "must hold at least 2, got 0"),
    (asked({"q": CHOICE | {"criteria": {"a": None}}}), ["questions", "#0", "criteria"], "at least 2, got 1"),
    (
        asked({"q": CHOICE | {"criteria": {"a": None, SECRET: 1}}}),
        ["questions", "#0", "criteria", "#1"],
        "a number",
    ),
    (asked({"q": CHOICE | {"criteria": ["a", "b"]}}), ["questions", "#0", "criteria"], "must be an object"),
    (
        asked({"q": SCORE | {"criteria": {"0": "a", "1": "b"}}}),
        ["questions", "#0", "criteria"],
        "must be an array",
    ),
    (asked({"q": SCORE | {"criteria": ["a"]}}), ["questions", "#0", "criteria"], "at least 2, got 1"),
    (asked({"q": SCORE | {"criteria": ["a"] * 11}}), ["questions", "#0", "criteria"], "at most 10, got 11"),
    (asked({"q": SCORE | {"criteria": ["a", None]}}), ["questions", "#0", "criteria", 1], "got null"),
    (
        asked({"q": NOUL | {"instructions": f"{SECRET}\ud800"}}),
        ["questions", "#0", "instructions"],
        "surrogate",
    ),
    (
        asked({"q": NOUL}, state={SECRET: {"a": float("nan")}}),
        ["state", "#0", "#0"],
        "is not a finite number",
    ),
    (b"{", [], "is not JSON"),
    (b'{"model":"\xff"}', [], "is not UTF-8"),
    (b'{"questions":{"q":1,"q":2}}', ["questions", "#1"], "came before in this object"),
    (b'{"model":"a","model":"b"}', ["model"], "came before in this object"),
    (b"[" * 100_000, [], "is nested deeper than 64 levels"),
]


@pytest.mark.parametrize(
    ("body", "location", "said"), WRONG, ids=[str(number) for number in range(len(WRONG))]
)
def test_what_is_wrong_is_named_by_location(
    server: Server, body: Any, location: list[str | int], said: str
) -> None:
    calls = len(server.engine.calls)

    (problem,) = problems(post(server, body))

    assert problem[0] == location
    assert said in problem[1]
    assert len(server.engine.calls) == calls


def test_all_problems_are_named_and_many_are_cut_short(server: Server) -> None:
    listed = problems(post(server, asked({str(number): {"type": "score"} for number in range(50)}, state=1)))
    assert len(listed) == 20
    assert listed[0] == (["state"], "must be a non-empty string, object or array, got a number")
    assert listed[1] == (["questions", "#0", "criteria"], "is missing")


@pytest.mark.parametrize(("count", "status"), [(2, 200), (255, 200), (256, 422)])
def test_a_choice_has_2_to_255_options(server: Server, count: int, status: int) -> None:
    options = {f"{SECRET} {number}": None for number in range(count)}
    reply = post(server, asked({"q": CHOICE | {"criteria": options}}))
    assert reply.status == status
    if status == 422:
        assert problems(reply) == [(["questions", "#0", "criteria"], "must hold at most 255, got 256")]


def test_questions_are_limited(start_server: StartServer) -> None:
    server = start_server(max_decisions=2)
    listed = problems(post(server, asked({str(number): NOUL for number in range(3)})))
    assert listed == [(["questions"], "must hold at most 2, got 3")]


def test_the_model_is_this_one_under_its_own_name_or_an_alias(
    server: Server, start_server: StartServer
) -> None:
    others = ("kev-4b", "Kev-0.8B", "laya-latest", "Laya", "strands-decider-latest")
    for name in ("scripted", "jev-latest", "jev-1.13.0", "jev", *others):
        reply = post(server, asked({"q": NOUL}, model=name))
        assert reply.json["model"] == "scripted"
    for name in (SECRET, "", "jevin", "kevin", "strands", "gpt-6-luna"):
        reply = post(server, asked({"q": NOUL}, model=name))
        assert reply.status == 404
        assert fault(reply) == "model_not_found"
    strict = start_server(model_aliases=False)
    assert post(strict, asked({"q": NOUL})).status == 404
    assert post(strict, asked({"q": NOUL}, model="scripted")).status == 200


def test_behind_sagemaker_the_endpoint_is_the_model(server: Server) -> None:
    for others in ({}, {"model": None}, {"model": "any"}):
        body = {"state": "s", "questions": {"q": NOUL}} | others
        assert post(server, body, "/invocations").status == 200
    wrong = post(server, {"state": "s", "questions": {}}, "/invocations")
    assert problems(wrong) == [(["questions"], "must hold at least 1, got 0")]


def test_models_are_listed(server: Server) -> None:
    (model,) = server.request("GET", "/v1/models").json["models"]
    assert model["name"] == "scripted"
    assert "scripted.gguf" in model["description"]
    assert len(model["release_date"]) == len("2026-01-31")


@pytest.mark.parametrize(
    ("method", "path", "headers", "body", "status", "code"),
    [
        ("GET", "/v1/nothing", {}, b"", 404, "not_found"),
        ("GET", "/v1/systemone", {}, b"", 405, "method_not_allowed"),
        ("POST", "/v1/systemone", {"content-type": "text/csv"}, b"{}", 415, "unsupported_media_type"),
        (
            "POST",
            "/v1/systemone",
            {"content-type": "multipart/form-data"},
            b"",
            415,
            "unsupported_media_type",
        ),
        ("POST", "/v1/systemone", {}, b" " * 4_194_305, 413, "body_too_large"),
        ("POST", "/v1/systemone", {"content-encoding": "br"}, b"{}", 415, "unsupported_media_type"),
    ],
)
def test_other_errors_have_a_type_and_a_message(
    server: Server, method: str, path: str, headers: dict[str, str], body: bytes, status: int, code: str
) -> None:
    reply = server.request(method, path, body, {"content-type": "application/json"} | headers)
    assert reply.status == status
    assert fault(reply) == code


def test_every_reply_has_a_request_id(server: Server) -> None:
    replies = [post(server, asked({"q": NOUL})), post(server, b"{"), server.request("GET", "/v1/nothing")]
    ids = {reply.headers["x-typesafe-request-id"] for reply in replies}
    assert len(ids) == 3


@pytest.mark.parametrize("path", ["/v1/systemone", "/invocations"])
def test_a_key_is_asked_for_where_one_is_set(locked: Server, server: Server, path: str) -> None:
    body = asked({"q": NOUL})
    wrong = [
        {},
        {"authorization": "Bearer"},
        {"authorization": "Bearer no"},
        {"authorization": f"Basic {KEY}"},
    ]
    for headers in [*wrong, {"authorization": f"Bearer {KEY}x"}, {"authorization": "Bearer \xe9"}]:
        reply = post(locked, body, path, **headers)
        assert reply.status == 401
        assert b"authentication_error" in reply.body
        assert KEY.encode() not in reply.body
        assert reply.headers["www-authenticate"] == "Bearer"
    assert post(locked, body, path, authorization=f"Bearer {KEY}").status == 200
    assert post(locked, body, path, authorization=f"bearer  {KEY}").status == 200
    assert locked.request("GET", "/v1/models").status == 401
    assert locked.request("GET", "/ping").status == 200
    assert post(server, body, path, authorization="Bearer any").status == 200


COMPRESS = {"zstd": zstd.compress, "gzip": gzip.compress}


@pytest.mark.parametrize("path", ["/v1/systemone", "/invocations"])
@pytest.mark.parametrize("encoding", COMPRESS)
def test_compressed_bodies_are_read(server: Server, path: str, encoding: str) -> None:
    body = json.dumps(asked({"q": NOUL}, state="x" * 100_000)).encode()
    reply = post(server, COMPRESS[encoding](body), path, **{"content-encoding": encoding.upper()})
    assert reply.status == 200
    assert server.engine.calls[-1][0][0].state == "x" * 100_000


@pytest.mark.parametrize("encoding", COMPRESS)
def test_a_small_body_does_not_become_a_large_one(server: Server, encoding: str) -> None:
    compress = COMPRESS[encoding]
    headers = {"content-encoding": encoding}
    at_the_limit = compress(json.dumps(asked({"q": NOUL})).encode().ljust(4_194_304))
    assert post(server, at_the_limit, **headers).status == 200
    for size in (4_194_305, 100_000_000):
        reply = post(server, compress(b" " * size), **headers)
        assert reply.status == 413
        assert fault(reply) == "body_too_large"


@pytest.mark.parametrize("encoding", COMPRESS)
def test_what_is_not_one_whole_stream_is_refused(server: Server, encoding: str) -> None:
    whole = COMPRESS[encoding](json.dumps(asked({"q": NOUL})).encode())
    for body in (b"", b"{}", whole[:-1], whole[: len(whole) // 2], whole + whole, whole + b"{}"):
        ((location, _),) = problems(post(server, body, **{"content-encoding": encoding}))
        assert location == []
    decision_form = post(server, b"{}", "/invocations", **{"content-encoding": encoding})
    assert decision_form.status == 400


def test_a_frame_that_asks_for_much_memory_is_refused(server: Server) -> None:
    compressor = zstd.ZstdCompressor(options={zstd.CompressionParameter.window_log: 27})
    body = compressor.compress(json.dumps(asked({"q": NOUL}, state="x" * 1000)).encode()) + compressor.flush()
    assert problems(post(server, body, **{"content-encoding": "zstd"}))[0][0] == []


def test_overload_says_when_to_come_back(start_server: StartServer, scripted: Any) -> None:
    entered, leave = threading.Event(), threading.Event()

    def hold(_: Any) -> None:
        entered.set()
        assert leave.wait(30)

    server = start_server(scripted(hold, tokens=1000, tokens_per_second=100), deadline_seconds=15)
    running = threading.Thread(target=post, args=(server, asked({"q": NOUL})))
    running.start()
    assert entered.wait(30)
    own, invocations = (post(server, asked({"q": NOUL}), path) for path in ("/v1/systemone", "/invocations"))
    leave.set()
    running.join()

    assert (own.status, invocations.status) == (429, 503)
    assert fault(own) == fault(invocations) == "overloaded"
    seconds = float(own.headers["retry-after-ms"]) / 1000
    assert 0 < seconds <= 15
    assert seconds <= int(own.headers["retry-after"]) < seconds + 1
    assert "try again in" in invocations.json["detail"]["message"]


def test_an_engine_that_fails_is_a_server_error_of_its_shape(
    start_server: StartServer, scripted: Any
) -> None:
    def fail(_: Any) -> None:
        raise ValueError(SECRET)

    reply = post(start_server(scripted(fail)), asked({"q": NOUL}))
    assert reply.status == 500
    assert fault(reply) == "engine_error"


@pytest.fixture(scope="module")
def real(start_module_server: StartServer, tiny_gguf: Callable[..., Path], library_dir: Path) -> Server:
    settings = Settings(
        gguf=tiny_gguf(spoiled="~"),
        library_dir=library_dir,
        readout="letters",
        context_tokens=1024,
        threads=1,
    )
    return start_module_server(load=lambda: Engine.load(settings))


def test_a_question_that_does_not_fit_is_named(real: Server) -> None:
    long = NOUL | {"instructions": f"{SECRET}{'x' * 1024}"}
    ((location, said),) = problems(post(real, asked({"q": NOUL, SECRET: long})))
    assert location == ["questions", "#1"]
    assert "tokens, allowed are 1024" in said


def test_no_answer_depends_on_the_other_questions_their_names_or_their_order(real: Server) -> None:
    many = {"type": "choice", "criteria": {f"number {number}": None for number in range(100)}}
    questions = {"noul": NOUL, "many": many, "choice": CHOICE, "score": SCORE}
    together = post(real, asked(questions)).json["answers"]
    assert [answer["x_readout"] for answer in together.values()] == ["letters", "text", "letters", "letters"]

    backwards = post(real, asked(dict(reversed(questions.items())))).json["answers"]
    for name, question in questions.items():
        alone = post(real, asked({"another name": question})).json["answers"]
        assert alone["another name"] == together[name] == backwards[name]


def test_numbers_that_are_not_finite_are_a_server_error(real: Server) -> None:
    before = post(real, asked({"q": NOUL})).json["answers"]
    for path in ("/v1/systemone", "/invocations"):
        reply = post(real, asked({"q": NOUL}, state="~"), path)
        assert reply.status == 500
        assert fault(reply) == "engine_error"
    assert post(real, asked({"q": NOUL})).json["answers"] == before
