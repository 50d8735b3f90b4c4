"""Answers for people: bars that are full at one and empty at nothing, and the facts below them."""

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from semif.cli.answer_bars import BAR_CELLS, bar, show_answer
from semif.client.errors import UnknownReplyError
from semif.client.reply import WireAnswer
from semif_adapter.contract.wire import AppliedCalibration, DecisionResponse
from tests.support.runs.calibration_runs import labelled

shares = st.floats(0, 1)


@given(shares, shares)
def test_a_greater_share_is_never_a_shorter_bar(one: float, other: float) -> None:
    lesser, greater = sorted((one, other))
    assert bar(lesser).count("█") <= bar(greater).count("█")


def test_the_ends_and_the_middle() -> None:
    assert bar(1) == "█" * BAR_CELLS
    assert bar(0) == "·" * BAR_CELLS
    assert bar(0.5, blocks=False) == "#" * (BAR_CELLS // 2) + "." * (BAR_CELLS // 2)


def test_a_calibrated_answer_says_so() -> None:
    reply = DecisionResponse.model_validate_json(json.dumps(labelled("a", [1.0, 0.0], 0).raw))
    applied = AppliedCalibration(sha256="c" * 64, temperature=3.325)
    request = json.dumps({"decision": {"id": "a", "question": "?"}}).encode()
    for calibration, told in ((None, "text readout, "), (applied, "text readout, temperature 3.325, ")):
        result = reply.result.model_copy(update={"calibration": calibration})
        console = Console(record=True, file=io.StringIO(), width=200)
        show_answer(console, request, WireAnswer((result,), None, b""))
        assert told in console.export_text()


def test_answers_to_another_request_are_not_shown_under_this_one() -> None:
    request = json.dumps({"decision": {"id": "a", "question": "?"}}).encode()
    other = DecisionResponse.model_validate_json(json.dumps(labelled("b", [1.0, 0.0], 0).raw)).result
    for results in ((), (other,), (other, other)):
        with pytest.raises(UnknownReplyError, match="the reply answers another request"):
            show_answer(Console(file=io.StringIO()), request, WireAnswer(results, None, b""))


def test_nothing_that_is_shown_steers_the_terminal() -> None:
    request = json.dumps({"decision": {"id": "\x1b[31ma", "question": "two\nlines\x07 \x9b2J"}}).encode()
    result = DecisionResponse.model_validate_json(json.dumps(labelled("a", [1.0, 0.0], 0).raw)).result
    changed = result.model_copy(update={"id": "\x1b[31ma", "option_ids": ("\x1b[31mx", "\u202ey")})
    file = io.StringIO()
    show_answer(Console(file=file, width=200), request, WireAnswer((changed,), None, b""))
    shown = file.getvalue()
    assert "two lines" in shown
    assert all(letter.isprintable() for letter in shown.replace("\n", ""))
