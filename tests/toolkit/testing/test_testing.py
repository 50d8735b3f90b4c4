"""semif.testing: fakes are the real clients, recordings are real replies, and nothing goes out unasked."""

import asyncio
import json
from collections.abc import Callable
from enum import Enum
from pathlib import Path
from typing import Any

import pytest

from semif import DecisionClient, DecisionResult, Question
from semif.client.errors import OverloadedError, RequestRefusedError
from semif.errors import SemifError
from semif.testing import fake_async_client, fake_client, no_requests, recording_client, replaying_client
from semif_adapter.contract.wire import Decision, DecisionResponse
from tests.support.runs.policies import answer
from tests.support.servers.sagemaker_stand_in import Reply, StandIn

pytest_plugins = ["semif.testing.pytest_plugin"]


class Team(Enum):
    BILLING = "billing"
    SHIPPING = "shipping"


def test_a_fake_answers_with_an_option_or_probabilities() -> None:
    with no_requests():
        result = fake_client(Team.SHIPPING).decide("s", "q", Team)
        assert (result.choice, result.probability) == (Team.SHIPPING, 0.99)
        assert fake_client(True).decide("s", "q", bool).choice is True
        shared = fake_client({Team.BILLING: 0.6, Team.SHIPPING: 0.4}).decide("s", "q", Team)
        assert (shared.choice, shared.margin) == (Team.BILLING, pytest.approx(0.2))


def test_a_fake_answers_by_the_question_or_by_a_function() -> None:
    questions = [Question("Which team?", Team), Question("Urgent?", bool)]
    by_text: dict[str, Any] = {"Which team?": "billing", "Urgent?": {True: 0.3, False: 0.7}}
    found = fake_client(by_text).decide_many("s", questions)
    assert [result.choice for result in found] == [Team.BILLING, False]

    def says(decision: Decision) -> str:
        return "shipping" if "parcel" in str(decision.state) else "billing"

    items = [(state, Question("q", Team)) for state in ("a parcel", "an invoice")]
    each = sorted(fake_client(says).decide_each(items), key=lambda one: one.position)
    assert [one.result.choice for one in each if one.result] == [Team.SHIPPING, Team.BILLING]


def test_a_fake_fails_as_it_is_told_and_checks_as_ever() -> None:
    with pytest.raises(OverloadedError, match="busy"):
        fake_client(OverloadedError("busy", status=503)).decide("s", "q", Team)
    with pytest.raises(RequestRefusedError, match="not sent"):
        fake_client("billing").decide("", "q", Team)


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        ("nobody", "answer 'nobody' is none of"),
        ({"another question": "billing"}, "has no answer to 'q'"),
        ({"billing": 0.5}, "must be for all of"),
        ({"billing": 0.5, "shipping": 0.6}, "add up to 1"),
    ],
)
def test_an_answer_that_is_none_is_told(answers: Any, message: str) -> None:
    with pytest.raises(SemifError, match=message):
        fake_client(answers).decide("s", "q", Team)


def test_an_event_loop_has_the_same() -> None:
    async def run() -> None:
        async with fake_async_client("billing") as client:
            assert (await client.decide("s", "q", Team)).choice is Team.BILLING

    asyncio.run(run())


def test_what_was_recorded_is_answered_without_a_server(stand_in: StandIn, tmp_path: Path) -> None:
    raw = answer({"billing": 0.75, "shipping": 0.25}, mass=1.0, name="decision").raw
    stand_in.script = [Reply(200, DecisionResponse(result=raw).model_dump_json().encode())]
    path = tmp_path / "recording.jsonl"
    with recording_client(DecisionClient(url=stand_in.url), path) as client:
        recorded = client.decide("s", "q", Team)
    with no_requests(), replaying_client(path) as client:
        assert client.decide("s", "q", Team) == recorded
        with pytest.raises(RequestRefusedError) as caught:
            client.decide("another", "q", Team)
    assert caught.value.code == "not_recorded"
    assert len(stand_in.bodies) == 1
    path.write_text("{}\n")
    with pytest.raises(SemifError, match="is no recording"):
        replaying_client(path)


def test_a_recording_is_named_by_a_text_too_and_refused_before_anything_is_asked(
    stand_in: StandIn, tmp_path: Path
) -> None:
    raw = answer({"billing": 0.75, "shipping": 0.25}, mass=1.0, name="decision").raw
    stand_in.script = [Reply(200, DecisionResponse(result=raw).model_dump_json().encode())]
    path = str(tmp_path / "recording.jsonl")
    with recording_client(DecisionClient(url=stand_in.url), path) as client:
        recorded = client.decide("s", "q", Team)
    with replaying_client(path) as client:
        assert client.decide("s", "q", Team) == recorded
    with (
        DecisionClient(url=stand_in.url) as client,
        pytest.raises(SemifError, match="cannot be written: no such"),
    ):
        recording_client(client, tmp_path / "no folder" / "recording.jsonl")


def test_no_request_leaves_where_they_are_forbidden(stand_in: StandIn, semif_no_requests: None) -> None:
    with DecisionClient(url=stand_in.url) as client, pytest.raises(SemifError, match="forbids requests here"):
        client.decide("s", "q", Team)
    assert stand_in.bodies == []


def test_the_fixture_makes_fakes(semif_fake: Callable[..., DecisionClient]) -> None:
    assert semif_fake("billing").decide("s", "q", Team).choice is Team.BILLING


def test_a_result_loads_from_a_reply_and_from_a_runs_raw() -> None:
    result = answer({"billing": 0.75, "shipping": 0.25}, mass=1.0)
    document = json.loads(DecisionResponse(result=result.raw).model_dump_json())
    assert DecisionResult.load(document) == DecisionResult.load(document["result"]) == result
