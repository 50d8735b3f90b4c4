"""`parameters` beside the decision form: what is asked of the engine, and what it costs on a real one."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from semif_adapter.contract.settings import Settings
from semif_adapter.contract.wire import Layout
from semif_adapter.engine.engine import Engine

Document = dict[str, Any]
ROTATE = {"parameters": {"order_debiasing": "rotate"}}


@pytest.fixture(scope="module")
def server(start_module_server: Any) -> Any:
    return start_module_server()


@pytest.fixture(scope="module")
def real(start_module_server: Any, tiny_gguf: Callable[..., Path], library_dir: Path) -> Any:
    settings = Settings(gguf=tiny_gguf(), library_dir=library_dir, readout="letters", threads=1)
    return start_module_server(load=lambda: Engine.load(settings))


@pytest.mark.parametrize("parameters", [{}, {"order_debiasing": "none"}])
def test_without_rotation_a_decision_is_what_it_was(
    server: Any, decision: Document, parameters: Document
) -> None:
    assert server.ask({"decision": decision, "parameters": parameters}).status == 200
    questions, layout = server.engine.calls[-1]
    assert (questions[0].rotate, layout) == (False, "schema-first")


@pytest.mark.parametrize("form", ["decision", "decisions"])
def test_rotations_share_the_state(server: Any, decision: Document, form: str) -> None:
    assert server.ask({form: decision if form == "decision" else [decision]} | ROTATE).status == 200
    questions, layout = server.engine.calls[-1]
    assert (questions[0].rotate, layout) == (True, "state-first")


@pytest.mark.parametrize("layout", ["schema-first", "state-first"])
def test_a_setting_fixes_one_layout_for_every_form(
    start_server: Any, decision: Document, layout: Layout
) -> None:
    fixed = start_server(layout=layout)
    system_one = {"state": "s", "questions": {"q": {"type": "noul", "instructions": "Is it so?"}}}
    for document in ({"decision": decision}, {"decision": decision} | ROTATE, {"decisions": [decision]}):
        assert fixed.ask(document).status == 200
    assert fixed.ask(system_one).status == 200
    assert [asked for _, asked in fixed.engine.calls] == [layout] * 4


def test_questions_with_one_layout_are_answered_alike_in_every_form(
    start_server: Any, decision: Document, tiny_gguf: Callable[..., Path], library_dir: Path
) -> None:
    settings = Settings(gguf=tiny_gguf(), library_dir=library_dir, readout="letters", threads=1)
    fixed = start_server(load=lambda: Engine.load(settings), layout="schema-first")
    other = decision | {"id": "e", "question": "Which of the two?"}

    together = fixed.ask({"decisions": [decision, other]}).json["results"]

    alone = [fixed.ask({"decision": one}).json["result"] for one in (decision, other)]
    for key in ("option_logits", "prompt_sha256", "prompt_version"):
        assert [result[key] for result in together] == [result[key] for result in alone]
    assert together[0]["prompt_version"].startswith("chat-letters-schema-first-")
    criteria = {option["id"]: option.get("description") for option in decision["options"]}
    question = {"type": "choice", "instructions": decision["question"], "criteria": criteria}
    neighbour = {"type": "noul", "instructions": "Is the customer angry?"}
    system_one = {"state": decision["state"], "questions": {"q": question}}
    both = {"state": decision["state"], "questions": {"r": neighbour, "q": question}}
    assert fixed.ask(system_one).json["answers"]["q"] == fixed.ask(both).json["answers"]["q"]


@pytest.mark.parametrize(
    ("parameters", "path", "said"),
    [
        (
            {"order_debiasing": "shuffle"},
            "parameters.order_debiasing",
            "must be 'none' or 'rotate', got a string",
        ),
        ({"order_debiasing": None}, "parameters.order_debiasing", "got null"),
        ({"temperature": 1}, "parameters.#0", "is not a key of this object, allowed are order_debiasing"),
        (None, "parameters", "must be an object, got null"),
    ],
)
def test_unknown_parameters_are_refused_by_path(
    server: Any, decision: Document, parameters: Any, path: str, said: str
) -> None:
    reply = server.ask({"decision": decision, "parameters": parameters})
    assert reply.status == 400
    assert reply.json["error"]["path"] == path
    assert said in reply.json["error"]["message"]


@pytest.mark.parametrize("form", ["decision", "decisions"])
@pytest.mark.parametrize(("count", "status"), [(26, 200), (27, 400)])
def test_rotations_are_limited(server: Any, decision: Document, form: str, count: int, status: int) -> None:
    many = decision | {"options": [{"id": str(number)} for number in range(count)]}
    reply = server.ask({form: many if form == "decision" else [decision, many | {"id": "e"}]} | ROTATE)
    assert reply.status == status
    if status == 400:
        assert reply.json["error"]["path"] == "parameters.order_debiasing"
        assert "rotates at most 26 options, got 27" in reply.json["error"]["message"]


def test_with_rotation_the_order_of_the_options_no_longer_matters(real: Any, decision: Document) -> None:
    turned = decision | {"options": decision["options"][::-1]}

    def logits(asked: Document, parameters: Document) -> dict[str, float]:
        result = real.ask({"decision": asked} | parameters).json["result"]
        assert result["timing"]["rotations"] == (2 if parameters else 1)
        return dict(zip(result["option_ids"], result["option_logits"], strict=True))

    assert logits(decision, {}) != logits(turned, {})
    assert logits(decision, ROTATE) == pytest.approx(logits(turned, ROTATE), abs=1e-9)


def test_rotation_costs_a_prompt_for_each_order_and_the_state_once(real: Any, decision: Document) -> None:
    decision = decision | {"state": "A state of its own, which nothing has left computed."}
    reply = real.ask({"decisions": [decision]} | ROTATE).json
    (rotated,) = reply["results"]
    plain = real.ask({"decisions": [decision]}).json["results"][0]
    assert rotated["input_tokens"] == 2 * plain["input_tokens"]
    timing = reply["timing"]
    assert timing["prefix_cached_tokens"] < timing["prefix_tokens"]
    assert rotated["cached_tokens"] == timing["prefix_tokens"] + timing["prefix_cached_tokens"]
    assert rotated["prompt_version"] == plain["prompt_version"]
