"""Laya's head: llama-server's numbers in one pass, and a long state refused instead of a 500."""

from collections.abc import Callable
from pathlib import Path

import pytest

from semif.models.gguf_file import check_gguf
from semif_adapter.archive.manifest import PromptSpec
from semif_adapter.contract.errors import PromptTooLongError
from semif_adapter.contract.settings import Settings
from semif_adapter.engine.engine import Engine
from semif_adapter.forms.decisions import DecisionForm
from semif_adapter.forms.systemone.form import SystemOneForm
from tests.adapter.readouts.comparing import (
    QUESTIONS,
    answers_of,
    body,
    largest_difference,
    numbered,
    probabilities,
)
from tests.adapter.readouts.conftest import Ask

LoadEngine = Callable[..., Engine]


@pytest.fixture(scope="session")
def laya(laya_gguf: Path, load_engine: LoadEngine) -> Engine:
    return load_engine(laya_gguf, context_tokens=2048)


def test_every_type_of_question_gets_the_references_numbers(
    laya: Engine, laya_gguf: Path, reference: Callable[[Path], Ask]
) -> None:
    """Also where options and question are cut to the length of training: 255 options, a long question."""
    long = {"type": "noul", "instructions": "why " * 100, "criteria": {"true": "so " * 60}}
    many = {f"{count}": numbered(count) for count in (2, 26, 255)}
    request = body(QUESTIONS | many | {"long": long})

    reply, results = answers_of(laya, request)

    expected = reference(laya_gguf)(request)
    assert largest_difference(probabilities(reply), expected) < 1e-6
    assert reply["usage"] == expected["usage"]
    assert {(result.readout, result.allowed_token_mass) for result in results} == {("head", None)}
    assert (laya.info.invariant, laya.info.mode) == (True, "invariant")
    assert {result.cached_tokens for result in results} == {0}


def test_an_answer_depends_on_nothing_but_its_question(laya: Engine) -> None:
    form = SystemOneForm.parse(body(QUESTIONS), Settings())
    together, _ = laya.score(form.questions, form.layout)

    alone = [laya.score([question], form.layout)[0][0] for question in form.questions]

    assert [one.option_logits for one in together] == [one.option_logits for one in alone]


def test_too_long_a_state_is_refused_with_its_count(laya: Engine) -> None:
    form = SystemOneForm.parse(body({"a": numbered(2)}, "x" * 2040), Settings())
    with pytest.raises(PromptTooLongError, match=r"has at least 20\d\d tokens, allowed are 2048"):
        laya.prepare(form.questions, form.layout)


def test_marks_in_a_callers_words_are_spaces(
    laya: Engine, laya_gguf: Path, reference: Callable[[Path], Ask]
) -> None:
    question = {"type": "choice", "instructions": "a[MASK]b", "criteria": {"x": "[MASK]", "y": None}}
    request = body({"a": question}, "s[MASK]")
    assert (
        largest_difference(probabilities(answers_of(laya, request)[0]), reference(laya_gguf)(request)) < 1e-6
    )

    question["criteria"] = {"x": "[SEP]", "y[CLS]": None}
    decision = {"id": "d", "state": "[SEP]", "question": "[SEP]", "options": [{"id": "[SEP]"}, {"id": "b"}]}
    for form in (
        SystemOneForm.parse(body({"a": question}, "[SEP]"), Settings()),
        DecisionForm.parse({"decision": decision}, Settings()),
    ):
        [result], _ = laya.score(form.questions, form.layout)
        assert sum(result.probabilities) == pytest.approx(1)


def test_it_is_packed_as_the_encoder_with_a_head_that_it_is(laya_gguf: Path) -> None:
    check_gguf(laya_gguf, PromptSpec(readout="head", head="laya"))
