"""What a policy was made for: others fall back or are refused, and what is accepted is told."""

import itertools
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from semif import DecisionClient, Question
from semif.cli import main
from semif.client.results import DecisionResult
from semif.client.values.wording import wording_of
from semif.errors import SemifError
from semif.policy import Answerer, Bar, Fallback, MadeFor, Outcome, Policy, load_policy, write_policy
from semif_adapter.contract.wire import AppliedCalibration, DecisionResponse
from tests.support.runs.policies import MODEL, OPTIONS, answer, policy
from tests.support.servers.sagemaker_stand_in import Reply, StandIn

TEXT = "What should happen?"
ASKED = Question[str](TEXT, OPTIONS)
SURE = [0.9, 0.06, 0.04]


def made_for(**changes: Any) -> Policy:
    wording = wording_of(ASKED.text, ASKED.wire_options)
    answerer = Answerer(**{"model_sha256": MODEL.sha256, "prompt_version": "p1"} | changes)
    return policy(
        made_for=MadeFor(
            question_sha256=wording.question_sha256,
            options_sha256=wording.options_sha256,
            answerers=(answerer,),
        )
    )


def test_an_answer_of_what_it_was_made_for_passes() -> None:
    outcome = made_for().judge({}, answer(SURE), asked=ASKED)
    assert (outcome.option, outcome.mismatch_accepted) == ("approve", False)
    assert made_for().judge({}, answer(SURE), asked=ASKED, accept_mismatch=True) == outcome, (
        "nothing to accept"
    )


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"model_sha256": "b" * 64}, "the policy was made for model bbbbbbbbbbbb, this is model"),
        ({"calibration_sha256": "c" * 64}, "made for calibration cccccccccccc, this is no calibration"),
        ({"prompt_version": "p2"}, "the policy was made for prompt p2, this is prompt p1"),
    ],
)
def test_another_answer_goes_to_the_fallback_unless_it_is_accepted(
    changes: Mapping[str, Any], told: str
) -> None:
    made = made_for(**changes)
    outcome = made.judge({}, answer(SURE), asked=ASKED)
    assert (outcome.option, outcome.decided_by) == (None, "fallback")
    assert told in outcome.reason
    accepted = made.judge({}, answer(SURE), asked=ASKED, accept_mismatch=True)
    assert (accepted.option, accepted.mismatch_accepted) == ("approve", True)
    line = Outcome.model_validate_json(accepted.model_dump_json())
    (said,) = line.answers
    assert said.kind == "answer"
    assert told in str(said.mismatches[0])


def test_a_calibrated_answer_is_not_what_uncalibrated_thresholds_are_for() -> None:
    plain = answer(SURE)
    raw = plain.raw.model_copy(update={"calibration": AppliedCalibration(sha256="1" * 64, temperature=2.0)})
    outcome = made_for().judge({}, DecisionResult(plain.choice, raw), asked=ASKED)
    assert outcome.needs_person
    assert "made for no calibration, this is calibration 111111111111" in outcome.reason


@pytest.mark.parametrize(
    ("question", "what"),
    [
        (Question("What should be done?", OPTIONS), "question"),
        (Question(TEXT, {"approve": "Pay", "reject": None, "ask": None}), "options"),
    ],
)
def test_other_words_are_refused_before_asking(stand_in: StandIn, question: Question[str], what: str) -> None:
    options = {option["id"]: option.get("description") for option in question.wire_options}
    client = DecisionClient(url=stand_in.url)
    with pytest.raises(SemifError, match=f"does not fit: the policy was made for {what} "):
        made_for().decide(client, {}, question.text, options)
    assert stand_in.bodies == []
    with pytest.raises(SemifError, match="does not fit"):
        made_for().judge({}, answer(SURE), asked=question)
    outcome = made_for().judge({}, answer(SURE), asked=question, accept_mismatch=True)
    assert (outcome.option, [one.what for one in outcome.wording_mismatches]) == ("approve", [what])


def test_an_answer_without_its_question_is_refused() -> None:
    with pytest.raises(SemifError, match=r"give asked=Question\(text, options\)"):
        made_for().judge({}, answer(SURE))


def test_a_fallbacks_endpoint_may_have_an_answerer_of_its_own() -> None:
    small = made_for(model_sha256="b" * 64)
    assert small.made_for is not None
    both = small.made_for.model_copy(
        update={
            "answerers": (*small.made_for.answerers, Answerer(model_sha256=MODEL.sha256, prompt_version="p1"))
        }
    )
    cascade = policy(made_for=both, fallback=Fallback(endpoints=("large",)))
    assert cascade.judge({}, answer([0.4, 0.3, 0.3]), answer(SURE), asked=ASKED).option == "approve"


def test_an_endpoint_with_its_own_bar_has_answerers_of_its_own(tmp_path: Path) -> None:
    large = Answerer(model_sha256=MODEL.sha256, prompt_version="p1")
    small = made_for(model_sha256="b" * 64)
    bar = Bar(thresholds=dict.fromkeys(OPTIONS, 0.0), answerers=(large,))
    made = Policy(**dict(small) | {"fallback": Fallback(endpoints=("large",)), "endpoints": {"large": bar}})
    unsure = answer([0.4, 0.3, 0.3])
    outcome = made.judge({}, unsure, unsure, asked=ASKED)
    assert (outcome.option, [len(one.mismatches) for one in outcome.answers if one.kind == "answer"]) == (
        "approve",
        [1, 0],
    )
    swapped = made.endpoints | {"large": bar.model_copy(update={"answerers": small.made_for.answerers})}
    assert Policy(**dict(made) | {"endpoints": swapped}).judge({}, unsure, unsure, asked=ASKED).needs_person
    write_policy(made, tmp_path / "p.toml")
    assert load_policy(tmp_path / "p.toml") == made


def test_the_command_writes_down_what_it_accepts(stand_in: StandIn, tmp_path: Path) -> None:
    file, request = tmp_path / "p.toml", tmp_path / "request.json"
    write_policy(made_for(model_sha256="b" * 64), file)
    request.write_text(
        json.dumps(
            {
                "decision": {
                    "id": "R-1",
                    "state": "s",
                    "question": TEXT,
                    "options": [{"id": name} for name in OPTIONS],
                }
            }
        )
    )
    reply = Reply(200, DecisionResponse(result=answer(SURE, name="R-1").raw).model_dump_json().encode())
    told = {}
    for extra in ((), ("--accept-mismatch",)):
        stand_in.script = [reply]
        command = ["decide", "--url", stand_in.url, "--policy", str(file), *extra, str(request), "--json"]
        done = CliRunner().invoke(main, command)
        assert done.exit_code == 0, done.output
        told[extra] = Outcome.model_validate_json(done.stdout)
    assert [(one.option, one.mismatch_accepted) for one in told.values()] == [
        (None, False),
        ("approve", True),
    ]
    alone = CliRunner().invoke(main, ["decide", "--url", stand_in.url, "--accept-mismatch", str(request)])
    assert (alone.exit_code, "--accept-mismatch goes with --policy" in alone.stderr) == (2, True)


def test_the_file_holds_it_and_a_policy_without_has_the_hash_it_had(tmp_path: Path) -> None:
    made = made_for()
    write_policy(made, tmp_path / "p.toml")
    assert load_policy(tmp_path / "p.toml") == made
    assert made.sha256 != policy().sha256
    assert (
        policy(name="refunds").sha256 == "9b4457303fc78048313f81dc010fb6f6767ac300a968530090a3492171c53283"
    ), "an audit log names policies by it: no version may change it"


@given(st.permutations(["a", "b", "c"]), st.text(max_size=5))
def test_a_wording_is_of_the_words_and_not_of_their_order(ids: list[str], text: str) -> None:
    options = [{"id": name, "description": text} for name in ids]
    assert wording_of(text, options) == wording_of(text, sorted(options, key=lambda option: option["id"]))
    others = [[{"id": name} for name in ids], options[:2], [{**options[0], "id": "d"}, *options[1:]]]
    wordings = [wording_of(text, each) for each in (options, *others)]
    assert all(one != other for one, other in itertools.combinations(wordings, 2))
