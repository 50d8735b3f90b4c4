"""Models with decision heads over real HTTP: one question on every wire, and what ends a pass."""

import json
import threading
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from semif_adapter.contract.settings import Settings
from semif_adapter.engine.engine import Engine
from semif_adapter.llama.context import Context, Pass, Rows
from tests.support.machine.waiting import eventually

Document = dict[str, Any]

CONTEXT = 4096
STATE: Document = {"message": "charged twice, übel <b>'sehr'</b>", "count": [1, {"on": True}]}
TEAMS = {"billing": "money, and what is owed", "tech": None, "sales": "offers"}
LEVELS = ("calm", "angry: shouts", "furious")
ASKED = {"noul": "Is it urgent?", "choice": "Which team?", "score": "How angry?"}


class Served(NamedTuple):
    """A model with a head, and a server on it."""

    kind: str
    server: Any
    engine: Engine


@pytest.fixture(
    scope="module",
    params=list(product(("kev", "laya"), ("invariant", "joined", "batched"))),
    ids="-".join,
)
def served(
    request: pytest.FixtureRequest,
    start_module_server: Any,
    library_dir: Path,
    kev_gguf: Path,
    laya_gguf: Path,
) -> Served:
    kind, mode = request.param
    gguf = kev_gguf if kind == "kev" else laya_gguf
    settings = {"gguf": gguf, "library_dir": library_dir, "threads": 1, "mode": mode}
    settings |= {"context_tokens": CONTEXT, "streams": 2}
    engine = Engine.load(Settings(**settings))
    return Served(kind, start_module_server(load=lambda: engine, **settings), engine)


def system_one(state: Any = STATE) -> Document:
    questions = {
        "noul": {"type": "noul", "instructions": ASKED["noul"]},
        "choice": {"type": "choice", "instructions": ASKED["choice"], "criteria": TEAMS},
        "score": {"type": "score", "instructions": ASKED["score"], "criteria": list(LEVELS)},
    }
    return {"model": "jev-latest", "state": state, "questions": questions}


def openai(state: Any = STATE) -> Document:
    part = {"type": "input_json", "data": state} if isinstance(state, dict) else None
    choices = [{"value": name} | ({"description": text} if text else {}) for name, text in TEAMS.items()]
    levels = [dict(zip(("label", "description"), level.split(": "), strict=False)) for level in LEVELS]
    questions = [
        {"type": "predicate", "instructions": ASKED["noul"]},
        {"type": "choice", "instructions": ASKED["choice"], "choices": choices},
        {"type": "score", "instructions": ASKED["score"], "levels": levels},
    ]
    said = [{"role": "user", "content": [part]}] if part else state
    return {"model": "gpt-6-luna", "input": said, "questions": questions}


def decision(state: Any = STATE, question: str = ASKED["choice"]) -> Document:
    options = [{"id": name} | ({"description": text} if text else {}) for name, text in TEAMS.items()]
    return {"decision": {"id": "d", "state": state, "question": question, "options": options}}


def post(server: Any, path: str, document: Document) -> Any:
    headers = {"content-type": "application/json"}
    return server.request("POST", path, json.dumps(document).encode(), headers)


def answers(server: Any, path: str, document: Document) -> dict[str, list[float]]:
    """Each question's probabilities, by its type, in the order of its options."""
    reply = post(server, path, document)
    assert reply.status == 200, reply.body
    match reply.json:
        case {"result": result}:
            assert result["readout"] == "head"
            return {"choice": result["probabilities"]}
        case {"answers": dict(named)}:
            return {
                name: [answer["noul"]] if name == "noul" else [*answer["probabilities"].values()]
                for name, answer in named.items()
            }
        case {"answers": [predicate, choice, score]}:
            assert predicate["x_readout"] == "head"
            listed = {"choice": choice, "score": score}
            told = {
                name: [each["probability"] for each in one["probabilities"]] for name, one in listed.items()
            }
            return {"noul": [predicate["probability"]]} | told
    raise AssertionError(reply.body)


def test_a_question_gets_the_same_probabilities_on_every_wire(served: Served) -> None:
    """To the last digit in the mode that promises it whatever the questions beside it."""
    expected = answers(served.server, "/v1/systemone", system_one())
    assert len({tuple(told) for told in expected.values()}) == len(ASKED)
    exact = served.engine.info.mode == "invariant"

    for path, document in (
        ("/v1/decisions", openai()),
        ("/invocations", system_one()),
        ("/invocations", openai()),
        ("/invocations", decision()),
    ):
        for name, told in answers(served.server, path, document).items():
            assert told == (expected[name] if exact else pytest.approx(expected[name], abs=2e-3)), (
                path,
                name,
            )


def test_what_the_model_was_trained_on_arrives_from_openais_form(served: Served) -> None:
    """A description, instructions in parts, and a level's words change its answers, as they do elsewhere."""
    whole = answers(served.server, "/v1/decisions", openai())
    bare = openai()
    for option in [*bare["questions"][1]["choices"], *bare["questions"][2]["levels"]]:
        option.pop("description", None)
    other = openai()
    for question in other["questions"]:
        question["instructions"] = [{"type": "input_json", "data": {"ask": question["instructions"]}}]

    undescribed = answers(served.server, "/v1/decisions", bare)
    assert undescribed["noul"] == pytest.approx(whole["noul"], abs=2e-3)
    assert all(undescribed[name] != pytest.approx(whole[name], abs=2e-3) for name in ("choice", "score"))
    told = answers(served.server, "/v1/decisions", other)

    asked = system_one()
    for name, question in asked["questions"].items():
        question["instructions"] = {"ask": ASKED[name]}
    for name, expected in answers(served.server, "/v1/systemone", asked).items():
        assert told[name] == pytest.approx(expected, abs=2e-3), name
        assert told[name] != pytest.approx(whole[name], abs=1e-6), name


def test_too_long_a_state_is_refused_in_each_wires_words(served: Served) -> None:
    long = "x" * CONTEXT
    refused = f"allowed are {CONTEXT}"

    ours = post(served.server, "/invocations", decision(long))
    assert (ours.status, ours.json["error"]["code"]) == (400, "prompt_too_long")
    assert refused in ours.json["error"]["message"]
    sample = post(served.server, "/invocations", decision(long) | {"parameters": {"reply": "sample"}})
    assert (sample.status, set(sample.json)) == (400, {"error"})
    assert refused in sample.json["error"]
    for path in ("/v1/systemone", "/invocations"):
        theirs = post(served.server, path, system_one(long))
        [field] = theirs.json["detail"]
        assert (theirs.status, field["type"]) == (422, "prompt_too_long")
        assert refused in field["msg"]
    for path in ("/v1/decisions", "/invocations"):
        openais = post(served.server, path, openai(long))
        error = openais.json["error"]
        assert (openais.status, error["type"], error["code"], error["param"]) == (
            400,
            "invalid_request_error",
            "prompt_too_long",
            "questions[0]",
        )
        assert refused in error["message"]


def test_the_samples_reply_has_no_answer_tokens(served: Served) -> None:
    asked = decision() | {"parameters": {"reply": "sample"}}
    result = post(served.server, "/invocations", asked).json["result"]

    assert (result["readout"], result["answer_token_ids"], result["full_vocab_argmax_id"]) == (
        "head",
        None,
        None,
    )
    assert result["probabilities"] == pytest.approx(
        answers(served.server, "/invocations", decision())["choice"]
    )
    assert result["prompt_version"].startswith(f"{served.kind}-head-state-first")


def test_a_client_that_hangs_up_leaves_nothing_behind(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its pass waits to be stopped, so that it always is; test_abandon.py stops one in its middle."""
    before = answers(served.server, "/invocations", decision())
    running, stopped = threading.Event(), threading.Event()
    run, stop = Context.run, Context.stop

    def run_late(context: Context, passes: Sequence[Pass]) -> list[Rows]:
        running.set()
        assert stopped.wait(30)
        return run(context, passes)

    def stop_and_tell(context: Context) -> None:
        stop(context)
        stopped.set()

    with monkeypatch.context() as patched:
        patched.setattr(Context, "run", run_late)
        patched.setattr(Context, "stop", stop_and_tell)
        connection = served.server.connect()
        body = json.dumps(decision("x" * (CONTEXT - 500)))
        connection.request("POST", "/invocations", body, {"content-type": "application/json"})
        assert running.wait(30)
        connection.close()
        eventually(lambda: served.server.queue.admission.requests == 0)

    assert answers(served.server, "/invocations", decision()) == before
