"""`reply = "sample"`: the fields that programs written for AWS's sample read."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from semif_adapter.contract.settings import Settings
from semif_adapter.engine.engine import Engine

SAMPLE = {"parameters": {"reply": "sample"}}
RESULT = {
    "id", "option_ids", "probabilities", "option_logits", "answer_token_ids", "input_tokens",
    "allowed_token_mass", "full_vocab_argmax_id", "prompt_sha256", "prompt_version", "model", "readout",
    "forward_seconds", "total_seconds",
}  # fmt: skip


@pytest.fixture(scope="module")
def server(start_module_server: Any, tiny_gguf: Callable[..., Path], library_dir: Path) -> Any:
    settings = {"gguf": tiny_gguf(), "library_dir": library_dir, "readout": "letters", "threads": 1}
    settings |= {"context_tokens": 512, "streams": 2}
    return start_module_server(load=lambda: Engine.load(Settings(**settings)), **settings)


def test_a_result_has_the_samples_fields(server: Any, decision: dict[str, Any]) -> None:
    ours = server.ask({"decision": decision}).json["result"]
    sample = server.ask({"decision": decision} | SAMPLE).json["result"]

    assert set(sample) == RESULT
    assert sample["probabilities"] == ours["probabilities"]
    assert sample["model"]["gguf"] == {"file": ours["model"]["file"], "sha256": ours["model"]["sha256"]}
    assert len(set(sample["answer_token_ids"])) == len(decision["options"])
    assert sample["full_vocab_argmax_id"] >= 0
    assert sample["forward_seconds"] > 0
    assert not {"answer_token_ids", "full_vocab_argmax_id"} & set(ours)


def test_several_results_share_a_timing(server: Any, decision: dict[str, Any]) -> None:
    reply = server.ask({"decisions": [decision, decision | {"id": "e"}]} | SAMPLE).json
    assert [set(result) for result in reply["results"]] == [RESULT] * 2
    assert {"batch_size", "prefix_tokens", "prefill_seconds", "total_seconds"} < set(reply["timing"])


def test_a_refusal_is_a_string(server: Any, decision: dict[str, Any]) -> None:
    for form in ({"decision": {}}, {"decisions": []}):
        reply = server.ask(form | SAMPLE)
        assert reply.status == 400
        assert set(reply.json) == {"error"}
        assert isinstance(reply.json["error"], str)


def test_the_setting_is_for_programs_that_send_what_they_always_sent(
    start_server: Any, decision: dict[str, Any]
) -> None:
    server = start_server(reply="sample")
    assert set(server.ask({"decision": decision}).json["result"]) == RESULT
    assert server.ask({"decision": decision}).json["result"]["answer_token_ids"] is None
    asked = {"decision": decision, "parameters": {"reply": "semif"}}
    assert "timing" in server.ask(asked).json["result"]
    assert isinstance(server.ask({"decision": None}).json["error"], str)
    wrong = server.ask({"decision": decision, "parameters": {"reply": "other"}})
    assert wrong.json["error"]["message"] == "parameters.reply must be 'semif' or 'sample', got a string"
