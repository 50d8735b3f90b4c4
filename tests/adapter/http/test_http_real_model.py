"""The whole adapter on the embedded model, asked over HTTP: limits counted in tokens, load, and the log."""

import logging
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from semif_adapter.contract import DecisionResponse, DecisionsResponse
from semif_adapter.engine import Engine
from semif_adapter.settings import Settings

SECRET = "Orchideenwasser"
CONTEXT = 256
Document = dict[str, Any]


@pytest.fixture(scope="module")
def server(start_module_server: Any, embedded_gguf: Path, library_dir: str) -> Iterator[Any]:
    settings = Settings(
        gguf=embedded_gguf,
        library_dir=Path(library_dir),
        readout="letters",
        context_tokens=CONTEXT,
        streams=2,
        threads=1,
    )
    return start_module_server(load=lambda: Engine.load(settings))


def words(decision: Document, count: int) -> Document:
    return {"decision": decision | {"state": "a" + " a" * (count - 1)}}


def test_a_decision_comes_back_whole(server: Any, decision: Document) -> None:
    reply = server.ask({"decision": decision})
    assert reply.status == 200
    result = DecisionResponse.model_validate_json(reply.body).result
    assert result.option_ids == ("refund", "sales")
    assert sum(result.probabilities) == pytest.approx(1, abs=1e-6)
    assert result.model.context_tokens == CONTEXT
    assert result.prompt_version.startswith("chat-letters-schema-first")


def test_decisions_share_their_state(server: Any, decision: Document) -> None:
    other = decision | {
        "id": "e",
        "question": "Is the customer angry?",
        "options": [{"id": "yes"}, {"id": "no"}],
    }
    reply = server.ask({"decisions": [decision, other]})
    assert reply.status == 200
    answered = DecisionsResponse.model_validate_json(reply.body)
    assert [result.id for result in answered.results] == ["d", "e"]
    assert answered.results[1].cached_tokens == answered.timing.prefix_tokens > 0


def test_a_prompt_at_the_limit_passes_and_one_token_more_is_refused(server: Any, decision: Document) -> None:
    far_too_long = server.ask(words(decision, 2 * CONTEXT))
    assert far_too_long.status == 400
    assert far_too_long.json["error"]["code"] == "prompt_too_long"
    counted = [
        int(word) for word in far_too_long.json["error"]["message"].replace(",", "").split() if word.isdigit()
    ]
    excess = max(counted) - CONTEXT
    fits = server.ask(words(decision, 2 * CONTEXT - excess))
    assert fits.status == 200
    assert fits.json["result"]["input_tokens"] == CONTEXT
    refused = server.ask(words(decision, 2 * CONTEXT - excess + 1))
    assert refused.status == 400
    assert refused.json["error"]["path"] == "decision"
    assert f"{CONTEXT + 1} tokens" in refused.json["error"]["message"]
    assert f"allowed are {CONTEXT}" in refused.json["error"]["message"]


def test_requests_at_once_get_the_answer_they_would_get_alone(server: Any, decision: Document) -> None:
    requests = [words(decision | {"id": str(number)}, CONTEXT * 6 // 10 - number) for number in range(4)]
    alone = [server.ask(request).json["result"] for request in requests]
    with ThreadPoolExecutor() as callers:
        together = list(callers.map(server.ask, requests))
    assert [reply.status for reply in together] == [200] * 4
    for one, reply in zip(alone, together, strict=True):
        assert reply.json["result"]["id"] == one["id"]
        assert reply.json["result"]["option_logits"] == one["option_logits"]


def test_the_callers_text_is_not_logged(
    server: Any, decision: Document, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    secret = decision | {"state": SECRET, "question": SECRET, "options": [{"id": SECRET}, {"id": "b"}]}
    assert server.ask({"decision": secret}).status == 200
    assert server.ask({"decision": secret | {SECRET: SECRET}}).status == 400
    assert server.ask(words(secret, 2 * CONTEXT)).status == 400
    assert SECRET not in caplog.text
