"""The adapter in the container of a transform job: one refused line must not end the job."""

import json
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from semif_adapter.contract.question import Question
from semif_adapter.contract.settings import Settings
from semif_adapter.contract.transform_parameters import MAX_JOB_PAYLOAD_MB, execution_parameters
from semif_adapter.engine.engine import Engine
from tests.adapter.http.conftest import Gate
from tests.support.machine.waiting import eventually

Document = dict[str, Any]
SPOILED = "~"
LINES = {"content-type": "application/jsonlines"}


def send(server: Any, line: bytes) -> Any:
    return server.request("POST", "/invocations", line, LINES)


@pytest.mark.parametrize("end", [b"", b"\n", b"\r\n"])
@pytest.mark.parametrize("batch", [True, False])
def test_a_body_of_json_lines_is_one_line(
    start_server: Any, decision: Document, end: bytes, batch: bool
) -> None:
    server = start_server(batch=batch)
    line = json.dumps({"decision": decision}).encode() + end
    reply = send(server, line)
    assert (reply.status, reply.json["result"]["id"]) == (200, "d")
    assert b"\n" not in reply.body
    assert b"\n" not in server.ask({"decision": decision}).body
    two = send(server, line.rstrip() + b"\n" + line)
    assert two.status == (200 if batch else 400)
    assert "must hold one line, got 2" in two.json["error"]["message"]


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"", "invalid_request"),
        (b"{", "invalid_request"),
        (b"\xff\xfe", "invalid_request"),
        (b'{"decision": {"id": 3}}', "invalid_request"),
        (b'{"questions": {"a": {"type": "song"}}, "state": "s"}', "invalid_request"),
        (b'{"messages": []}', "invalid_request"),
        (b'{"state": "' + b"a" * 2000 + b'"}', "body_too_large"),
    ],
)
def test_a_wrong_line_is_answered_with_an_error_object(start_server: Any, line: bytes, code: str) -> None:
    reply = send(start_server(batch=True, max_body_bytes=1024), line)
    assert reply.status == 200
    assert b"\n" not in reply.body
    assert set(reply.json) == {"error", "retryable"}
    assert (reply.json["error"]["code"], reply.json["retryable"]) == (code, False)


def test_elsewhere_a_wrong_line_keeps_its_status(start_server: Any) -> None:
    server = start_server()
    assert send(server, b"{").status == 400
    assert send(server, b'{"questions": {"a": {"type": "song"}}, "state": "s"}').status == 422


def test_a_media_type_that_is_no_json_is_told_both_that_are(start_server: Any) -> None:
    reply = start_server().request("POST", "/invocations", b"a,b", {"content-type": "text/csv"})
    assert reply.status == 415
    assert "application/json or application/jsonlines" in reply.json["error"]["message"]


def test_what_may_pass_later_stays_a_503(start_server: Any, decision: Document) -> None:
    server = start_server(batch=True)
    server.call_soon(server.queue.lifecycle.drain)
    line = json.dumps({"decision": decision}).encode()
    reply = eventually(lambda: send(server, line), lambda reply: reply.status != 200)
    assert (reply.status, reply.json["error"]["code"], reply.json["retryable"]) == (503, "draining", True)


def test_a_line_on_which_the_engine_fails_is_asked_once_more(
    start_server: Any, scripted: Any, decision: Document
) -> None:
    faults = []

    def fail_once(questions: Sequence[Question]) -> None:
        if questions[0].id == "d" and not faults:
            faults.append(questions)
            raise RuntimeError("a fault")

    reply = send(start_server(scripted(fail_once), batch=True), json.dumps({"decision": decision}).encode())
    assert (reply.status, len(faults)) == (200, 1)
    assert reply.json["result"]["id"] == "d"


@pytest.mark.parametrize("form", ["decision", "questions"])
def test_what_waits_for_an_engine_that_dies_may_pass_elsewhere(
    start_server: Any, scripted: Any, gate: Gate, decision: Document, form: str
) -> None:
    """One line's fault would have been the lasting answer of all that waited."""

    def fail(questions: Sequence[Question]) -> None:
        gate(questions)
        raise ValueError

    def die() -> None:
        raise ValueError

    server = start_server(scripted(fail, prove=die), batch=True)
    question = {"type": "noul", "instructions": "Is it so?"}
    innocent = {"decision": {"decision": decision}, "questions": {"state": "s", "questions": {"q": question}}}
    with ThreadPoolExecutor() as senders:
        faulty = senders.submit(send, server, json.dumps({"decision": decision}).encode())
        assert gate.entered.acquire(timeout=30)
        lines = [senders.submit(send, server, json.dumps(innocent[form]).encode()) for _ in range(3)]
        eventually(lambda: server.queue.admission.queued == 3)
        gate.open()
        assert (faulty.result().status, faulty.result().json["error"]["code"]) == (200, "engine_error")
        for line in lines:
            reply = line.result()
            assert (reply.status, reply.json["error"]["code"]) == (503, "draining")
            assert reply.json["retryable"] is True
            assert reply.headers["retry-after"]


def test_a_line_that_makes_nan_every_time_gets_its_error_and_the_next_its_answer(
    start_server: Any, tiny_gguf: Callable[..., Path], library_dir: Path, decision: Document
) -> None:
    settings = Settings(
        gguf=tiny_gguf(spoiled=SPOILED),
        library_dir=library_dir,
        readout="letters",
        context_tokens=1024,
        streams=2,
        threads=1,
        batch=True,
    )
    server = start_server(load=lambda: Engine.load(settings), batch=True)
    wrong = send(server, json.dumps({"decision": decision | {"state": SPOILED}}).encode())
    assert (wrong.status, wrong.json["error"]["code"]) == (200, "engine_error")
    too_long = send(server, json.dumps({"decision": decision | {"state": "a" * 2000}}).encode())
    assert (too_long.status, too_long.json["error"]["code"]) == (200, "prompt_too_long")
    assert send(server, json.dumps({"decision": decision}).encode()).json["result"]["id"] == "d"


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"max_in_flight": 1},
        {"max_body_bytes": 6_291_456},
        {"mode": "batched"},
        {"gpu_layers": -1, "max_in_flight": 1024},
        {"gpu_layers": -1, "mode": "invariant"},
    ],
)
def test_a_job_never_sends_more_than_there_are_places_for(start_server: Any, settings: Document) -> None:
    at_once, payload_mb = execution_parameters(Settings(**settings))
    assert 1 <= at_once <= Settings(**settings).max_in_flight
    assert at_once * payload_mb <= MAX_JOB_PAYLOAD_MB
    assert payload_mb * 1_000_000 >= Settings(**settings).max_body_bytes
    parameters = start_server(**settings).request("GET", "/execution-parameters").json
    assert parameters == {
        "MaxConcurrentTransforms": at_once,
        "BatchStrategy": "SINGLE_RECORD",
        "MaxPayloadInMB": payload_mb,
    }


def test_sagemakers_variable_makes_it_a_transform_container() -> None:
    assert Settings.from_env({"SAGEMAKER_BATCH": "true"}).batch
    assert not Settings.from_env({"SAGEMAKER_BATCH": "false"}).batch
    assert not Settings.from_env({}).batch
