"""The whole adapter over HTTP, on a tiny model on real libllama: limits in tokens, load, faults, the log."""

import logging
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from semif_adapter.contract.settings import Settings
from semif_adapter.contract.wire import DecisionResponse, DecisionsResponse
from semif_adapter.engine.engine import Engine

SECRET = "Orchideenwasser"
CONTEXT = 1024
SPOILED = "~"
"""Every prompt that holds it has NaN logits."""
Document = dict[str, Any]


@pytest.fixture(scope="module")
def server(start_module_server: Any, tiny_gguf: Callable[..., Path], library_dir: Path) -> Iterator[Any]:
    settings = Settings(
        gguf=tiny_gguf(spoiled=SPOILED),
        library_dir=library_dir,
        readout="letters",
        context_tokens=CONTEXT,
        streams=2,
        threads=1,
    )
    return start_module_server(load=lambda: Engine.load(settings))


def letters(decision: Document, count: int) -> Document:
    """A request whose state has `count` tokens: the vocabulary is one of bytes."""
    return {"decision": decision | {"state": "a" * count}}


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
    far_too_long = server.ask(letters(decision, 2 * CONTEXT))
    assert far_too_long.status == 400
    assert far_too_long.json["error"]["code"] == "prompt_too_long"
    # A state that would fit alone: what is longer is refused by a bound, before it is counted.
    too_long = server.ask(letters(decision, CONTEXT)).json["error"]["message"]
    counted = [int(word) for word in too_long.replace(",", "").split() if word.isdigit()]
    excess = max(counted) - CONTEXT
    fits = server.ask(letters(decision, CONTEXT - excess))
    assert fits.status == 200
    assert fits.json["result"]["input_tokens"] == CONTEXT
    refused = server.ask(letters(decision, CONTEXT - excess + 1))
    assert refused.status == 400
    assert refused.json["error"]["path"] == "decision"
    assert f"{CONTEXT + 1} tokens" in refused.json["error"]["message"]
    assert f"allowed are {CONTEXT}" in refused.json["error"]["message"]


def test_requests_at_once_get_the_answer_they_would_get_alone(server: Any, decision: Document) -> None:
    requests = [letters(decision | {"id": str(number)}, CONTEXT * 6 // 10 - number) for number in range(4)]
    alone = [server.ask(request).json["result"] for request in requests]
    with ThreadPoolExecutor() as callers:
        together = list(callers.map(server.ask, requests))
    assert [reply.status for reply in together] == [200] * 4
    for one, reply in zip(alone, together, strict=True):
        assert reply.json["result"]["id"] == one["id"]
        assert reply.json["result"]["option_logits"] == one["option_logits"]


def test_logits_that_are_nan_are_an_error_and_leave_nothing_behind(server: Any, decision: Document) -> None:
    before = server.ask({"decision": decision}).json["result"]["option_logits"]
    spoiled = decision | {"state": f"The lamp is {SPOILED} on."}
    for request in ({"decision": spoiled}, {"decisions": [spoiled, spoiled | {"id": "e"}]}):
        reply = server.ask(request)
        assert reply.status == 500
        assert reply.json["error"]["code"] == "engine_error"
    assert server.ask({"decision": decision}).json["result"]["option_logits"] == before


def test_the_callers_text_is_not_logged(
    server: Any, decision: Document, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    secret = decision | {"state": SECRET, "question": SECRET, "options": [{"id": SECRET}, {"id": "b"}]}
    assert server.ask({"decision": secret}).status == 200
    assert server.ask({"decision": secret | {SECRET: SECRET}}).status == 400
    assert server.ask(letters(secret, 2 * CONTEXT)).status == 400
    assert SECRET not in caplog.text
