"""The parser against whatever bytes come: a request or one kind of error, which shows no caller's text."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semif_adapter.contract.errors import InvalidRequestError
from semif_adapter.contract.wire import DecisionRequest, DecisionsRequest
from semif_adapter.forms.invocations import form_of, parse_decisions, read_document

SECRET = "Orchideenwasser"

# Keys and strings either are ours or hold the secret.
ours = st.sampled_from(
    ["decision", "decisions", "id", "state", "question", "options", "description", "messages"]
)
secrets = st.builds(lambda text: SECRET + text, st.text(max_size=3))
scalars = st.none() | st.booleans() | st.integers() | st.floats() | secrets | st.just("")
documents: st.SearchStrategy[Any] = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(ours | secrets, inner, max_size=5),
    max_leaves=20,
)
options = st.lists(
    st.fixed_dictionaries({"id": secrets}, optional={"description": secrets}), min_size=2, max_size=5
)
decisions = st.fixed_dictionaries(
    {"id": secrets, "state": documents, "question": secrets, "options": options}
)
nearly_right = st.builds(
    lambda one, extra: {"decision": one | extra}, decisions, st.dictionaries(ours | secrets, documents)
)


def parse_body(body: bytes) -> DecisionRequest | DecisionsRequest:
    document = read_document(body)
    return parse_decisions(document, form_of(document), max_decisions=3)


def parse(body: bytes) -> str | None:
    """None for a request, else the error's message and path."""
    try:
        parse_body(body)
    except InvalidRequestError as error:
        return f"{error.message} {error.path}"
    return None


@given(st.binary())
def test_bytes_never_crash_the_parser(body: bytes) -> None:
    assert parse(body) is not None


@given(
    st.one_of(
        documents, nearly_right, st.builds(lambda many: {"decisions": many}, st.lists(decisions, max_size=5))
    )
)
def test_errors_never_show_the_callers_text(document: Any) -> None:
    problem = parse(json.dumps(document).encode())
    assert problem is None or SECRET not in problem


@given(decisions)
def test_a_request_that_passes_is_what_was_sent(one: dict[str, Any]) -> None:
    body = json.dumps({"decision": one}).encode()
    try:
        request = parse_body(body)
    except InvalidRequestError:
        return
    assert isinstance(request, DecisionRequest)
    assert request.decision.model_dump(mode="json", exclude_none=True) == one


@pytest.mark.parametrize(
    "state",
    [
        lambda n: "[" + "1," * n + "1]",
        lambda n: "[" + "[]," * (n // 2) + "1]",
        lambda n: '"' + "é" * (n // 2) + '"',
    ],
    ids=["numbers", "arrays", "text"],
)
def test_the_largest_states_pass(state: Callable[[int], str]) -> None:
    one = {"id": "d", "question": "q", "options": [{"id": "a"}, {"id": "b"}], "state": "STATE"}
    body = json.dumps({"decision": one}).replace('"STATE"', state(100_000))
    assert parse(body.encode()) is None


def test_many_problems_are_cut_short() -> None:
    options = json.dumps([{"id": 1}] * 100)
    problem = parse(b'{"decision":{"id":"d","state":"s","question":"q","options":%s}}' % options.encode())
    assert problem is not None
    assert problem.count("must be a string") == 20
    assert "and 80 more" in problem
