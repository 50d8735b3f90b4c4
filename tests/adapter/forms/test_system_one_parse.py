"""System One's parser against whatever documents come, and its formulas against the conformance suite's."""

import json
from typing import Any

import pytest
from hypothesis import event, given
from hypothesis import strategies as st
from jevcompat.validate import choice_confidence, score_confidence

from semif_adapter.contract.errors import InvalidRequestError
from semif_adapter.contract.strict_json import read_json
from semif_adapter.forms.confidence import peak, spread
from semif_adapter.forms.systemone.parse import is_ours, parse_system_one
from semif_adapter.forms.systemone.questions import to_questions
from semif_adapter.forms.systemone.refusal import refusal
from semif_adapter.forms.systemone.types import SystemOneInvocation, SystemOneRequest

SECRET = "Orchideenwasser"

ours = st.sampled_from(
    ["model", "state", "questions", "assets", "type", "instructions", "criteria", "true", "false"]
)
types = st.sampled_from(["noul", "choice", "score", "box"])
secrets = st.builds(lambda text: SECRET + text, st.text(max_size=3))
scalars = st.none() | st.booleans() | st.integers() | st.floats() | secrets | types | st.just("")
documents: st.SearchStrategy[Any] = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(ours | secrets, inner, max_size=5),
    max_leaves=20,
)
texts = secrets | st.dictionaries(secrets, documents, max_size=2) | st.lists(documents, max_size=2)
states = secrets | st.just({"a": SECRET}) | st.lists(documents, min_size=1, max_size=2)
optional = st.none() | texts
nouls = st.fixed_dictionaries(
    {"type": st.just("noul"), "instructions": texts},
    optional={
        "criteria": st.none() | st.fixed_dictionaries({}, optional={"true": optional, "false": optional})
    },
)
choices = st.fixed_dictionaries(
    {"type": st.just("choice"), "criteria": st.dictionaries(secrets, optional, min_size=2, max_size=5)},
    optional={"instructions": optional},
)
scores = st.fixed_dictionaries(
    {"type": st.just("score"), "criteria": st.lists(texts, min_size=2, max_size=10)},
    optional={"instructions": optional},
)
questions = st.dictionaries(secrets, nouls | choices | scores, min_size=1, max_size=4)
requests = st.fixed_dictionaries({"model": secrets, "state": states, "questions": questions})
nearly_right = st.builds(
    lambda one, extra, bad: one | {"questions": one["questions"] | bad} | extra,
    requests,
    st.dictionaries(ours | secrets, documents, max_size=2),
    st.dictionaries(secrets, documents, max_size=2),
)


def parse(body: bytes) -> SystemOneInvocation:
    return parse_system_one(read_json(body, is_ours), SystemOneRequest, max_questions=10)


@given(st.binary() | st.one_of(documents, nearly_right).map(lambda document: json.dumps(document).encode()))
def test_errors_are_422_by_location_and_never_show_the_callers_text(body: bytes) -> None:
    try:
        parse(body)
    except InvalidRequestError as error:
        status, reply, _ = refusal(error, behind_sagemaker=False)
        text = reply.model_dump_json()
        assert status == 422
        assert SECRET not in text
        assert all(problem["loc"][0] == "body" for problem in json.loads(text)["detail"])


@given(requests)
def test_a_request_that_passes_is_what_was_sent_and_each_question_has_its_options(
    one: dict[str, Any],
) -> None:
    try:
        request = parse(json.dumps(one).encode())
    except InvalidRequestError as error:
        # Lone surrogates and numbers beyond JSON; empty contents; keys that come twice once they are text.
        reasons = {problem.type for problem in error.problems}
        event(f"refused: {sorted(reasons)}")
        known = {"finite_number", "not_unicode", "noul_empty", "state_type", "string_too_short"}
        if not reasons <= known:
            raise
        return
    assert request.model_dump(mode="json", exclude_unset=True) == one
    asked = to_questions(request)
    assert [question.id for question in asked] == list(one["questions"])
    for question, sent in zip(asked, one["questions"].values(), strict=True):
        assert question.text
        assert all(option.shown and option.spoken for option in question.options)
        names = {
            "noul": ["true", "false"],
            "choice": list(sent["criteria"] or ()) if "criteria" in sent else [],
        }
        levels = [str(level) for level in range(len(question.options))]
        assert [option.id for option in question.options] == names.get(sent["type"], levels)


@given(st.lists(st.floats(0.0, 1.0), min_size=2, max_size=10).filter(lambda weights: sum(weights) > 1e-6))
def test_confidence_is_what_the_conformance_suite_computes(weights: list[float]) -> None:
    probabilities = [weight / sum(weights) for weight in weights]
    assert peak(probabilities) == pytest.approx(choice_confidence(probabilities), abs=1e-9)
    assert spread(probabilities) == pytest.approx(score_confidence(probabilities), abs=1e-9)


def test_confidence_is_0_where_all_is_even_and_1_where_all_is_sure() -> None:
    for count in (2, 3, 10, 255):
        assert peak([1 / count] * count) == pytest.approx(0, abs=1e-9)
        assert peak([0.0] * (count - 1) + [1.0]) == spread([0.0] * (count - 1) + [1.0]) == 1.0
    assert spread([0.5, 0.0, 0.5]) == 0.0
