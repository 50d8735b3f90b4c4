"""What a body is counted as is more than what it takes, however it is made."""

import gc
import json
import tracemalloc
from typing import Any

import pytest

from semif_adapter.contract.question import content_text
from semif_adapter.contract.settings import Settings
from semif_adapter.forms.decisions import DecisionForm
from semif_adapter.forms.invocations import read_document
from semif_adapter.serving.request_memory import document_bytes


def _asked(state: Any) -> bytes:
    options = [{"id": "a"}, {"id": "b"}]
    decision = {"id": "d", "state": state, "question": "Which?", "options": options}
    return json.dumps({"decision": decision}, ensure_ascii=False, separators=(",", ":")).encode()


@pytest.mark.parametrize(
    "state",
    [
        "x" * 400_000,
        "x" * 400_000 + "\U0001f469",
        [{}] * 9_000,
        [{"k": [1]}] * 6_000,
        {f"k{number}": f"v{number}" for number in range(19_000)},
    ],
    ids=["text", "wide text", "objects", "nested objects", "keys"],
)
def test_no_document_takes_more_than_it_is_counted_as(state: Any) -> None:
    body = _asked(state)
    DecisionForm.parse(read_document(_asked("first")), Settings())  # what is made once
    gc.collect()
    tracemalloc.start()
    form = DecisionForm.parse(read_document(body), Settings())
    prompt = f"{content_text(form.questions[0].state)}\n\n"
    assert prompt.encode()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < document_bytes(body)
