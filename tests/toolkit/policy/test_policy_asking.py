"""Policies that ask: real clients, a real adapter, and endpoints that fail as they are told."""

import asyncio
import json
import subprocess
import sys
from enum import Enum
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from semif import AsyncDecisionClient, DecisionClient, Retry
from semif.cli import main
from semif.client.errors import AccessError, RequestRefusedError
from semif.errors import SemifError
from semif.policy import Condition, Fallback, NoAnswer, Outcome, Rule, load_policy
from semif.project.root import project_root
from semif_adapter.contract.wire import DecisionResponse
from tests.support.machine.fake_clock import FakeClock
from tests.support.runs.policies import OPTIONS, answer, policy
from tests.support.servers.hanging import hanging
from tests.support.servers.sagemaker_stand_in import HANG_UP, Reply, StandIn, adapter_error

EXAMPLES = project_root() / "examples"
STATE = {"amount": 5}
QUESTION = "What should happen?"
OVERLOADED = Reply(503, adapter_error("overloaded", retry_after_seconds=1))
FAULT = Reply(500, adapter_error("engine_failed"))


def says(*probabilities: float) -> Reply:
    raw = answer(probabilities, name="R-1").raw
    return Reply(200, DecisionResponse(result=raw).model_dump_json().encode())


SURE, UNSURE = says(0.9, 0.06, 0.04), says(0.4, 0.3, 0.3)


class Action(Enum):
    APPROVE = "approve"
    REJECT = "reject"
    ASK = "ask"


@pytest.fixture
def client(stand_in: StandIn) -> DecisionClient:
    return DecisionClient(url=stand_in.url, retry=Retry(max_attempts=2), clock=FakeClock())


def test_a_rule_asks_nobody(stand_in: StandIn, client: DecisionClient) -> None:
    made = policy(rules=(Rule(name="large", when=(Condition(field="amount", op=">", value=1),), then="ask"),))
    outcome = made.decide(client, STATE, QUESTION, OPTIONS, id="R-1")
    assert (outcome.option, outcome.decided_by, outcome.decision) == ("ask", "rule", "R-1")
    assert stand_in.bodies == []


@pytest.mark.parametrize(
    ("script", "option", "decided_by", "told"),
    [
        ([SURE], "approve", "answer", [(None, None)]),
        ([UNSURE, SURE], "approve", "answer", [(None, "threshold"), ("large", None)]),
        ([UNSURE, UNSURE], None, "fallback", [(None, "threshold"), ("large", "threshold")]),
        ([OVERLOADED, OVERLOADED, SURE], "approve", "answer", [(None, "overloaded"), ("large", None)]),
        (
            [FAULT, HANG_UP, HANG_UP],
            None,
            "fallback",
            [(None, "engine_failed"), ("large", "UnreachableError")],
        ),
    ],
)
def test_endpoints_are_asked_until_one_is_good_enough(
    stand_in: StandIn,
    client: DecisionClient,
    script: list[Reply],
    option: str | None,
    decided_by: str,
    told: list[tuple[str | None, str | None]],
) -> None:
    stand_in.script = list(script)
    made = policy(fallback=Fallback(endpoints=("large",)))
    outcome = made.decide(
        client, STATE, QUESTION, Action, endpoints={"large": client}, id="R-1", inference_id="refund-1"
    )
    assert {reply.inference_id for reply in outcome.answers} == {"refund-1"}
    assert (outcome.option, outcome.decided_by) == (option, decided_by)
    assert [(reply.endpoint, _lack(reply)) for reply in outcome.answers] == told
    assert len(stand_in.bodies) == len(script)
    assert option is None or Action(outcome.option) is Action.APPROVE

    async def again() -> Outcome:
        async with AsyncDecisionClient(
            url=stand_in.url, retry=Retry(max_attempts=2), clock=FakeClock()
        ) as other:
            return await made.decide_async(
                other,
                STATE,
                QUESTION,
                Action,
                endpoints={"large": other},
                id="R-1",
                inference_id="refund-1",
            )

    stand_in.script = list(script)
    assert asyncio.run(again()) == outcome


def _lack(reply: Any) -> str | None:
    if reply.kind == "no_answer":
        return str(reply.code or reply.error)
    return reply.shortfalls[0].check if reply.shortfalls else None


def test_all_endpoints_of_a_policy_share_its_time(client: DecisionClient) -> None:
    made = policy(fallback=Fallback(endpoints=("large", "larger")))
    with hanging() as server, DecisionClient(url=server.url) as slow:
        others = {"large": slow, "larger": client}
        outcome = made.decide(slow, STATE, QUESTION, OPTIONS, timeout=0.2, endpoints=others)
    assert outcome.needs_person
    assert [told.code for told in outcome.answers if isinstance(told, NoAnswer)] == ["timeout"] * 3


@pytest.mark.parametrize(("status", "error"), [(400, RequestRefusedError), (403, AccessError)])
def test_what_no_fallback_mends_is_raised(
    stand_in: StandIn, client: DecisionClient, status: int, error: type[Exception]
) -> None:
    stand_in.script = [Reply(status, adapter_error("wrong"))]
    with pytest.raises(error):
        policy().decide(client, STATE, QUESTION, OPTIONS)


@pytest.mark.parametrize(
    ("options", "endpoints", "message"),
    [
        (["approve", "reject"], (), "knows the option 'ask', which is not offered"),
        ([*OPTIONS, "other"], (), "has no threshold for the option 'other'"),
        (OPTIONS, ("large",), "falls back to no endpoint, given are large; give a client for each name"),
    ],
)
def test_what_does_not_fit_the_policy_is_refused_before_asking(
    stand_in: StandIn, client: DecisionClient, options: Any, endpoints: Any, message: str
) -> None:
    with pytest.raises(SemifError, match=message):
        policy().decide(client, STATE, QUESTION, options, endpoints=dict.fromkeys(endpoints, client))
    with pytest.raises(SemifError, match="falls back to large, given are none"):
        policy(fallback=Fallback(endpoints=("large",))).decide(client, STATE, QUESTION, OPTIONS)
    assert stand_in.bodies == []


def test_a_real_answer_is_judged_as_it_came(adapter_url: str) -> None:
    request = json.loads((EXAMPLES / "refund.json").read_bytes())["decision"]
    options = {option["id"]: option["description"] for option in request["options"]}
    made = load_policy(EXAMPLES / "refunds.policy.toml")
    with DecisionClient(url=adapter_url) as asked:
        question, ids = request["question"], {"id": request["id"], "inference_id": "refund-1"}
        outcome = made.decide(asked, request["state"], question, options, **ids)
        result = asked.decide(request["state"], question, options, **ids)
    assert outcome == made.judge(request["state"], result)
    (said,) = outcome.answers
    assert said.kind == "answer"
    assert said.probabilities == dict(result.probabilities)
    assert (said.model_sha256, said.prompt_sha256) == (result.model.sha256, result.raw.prompt_sha256)


def decide(*arguments: str, text: str | None = None) -> tuple[int, str, str]:
    result = CliRunner().invoke(main, ["decide", *arguments], input=text)
    return result.exit_code, result.stdout, result.stderr


@pytest.fixture
def policy_file(tmp_path: Path) -> Path:
    """The example's policy, with another endpoint."""
    path = tmp_path / "second.policy.toml"
    path.write_text((EXAMPLES / "refunds.policy.toml").read_text() + 'endpoints = ["large"]\n')
    return path


def test_the_command_shows_the_outcome(stand_in: StandIn, policy_file: Path) -> None:
    asked = ["--url", stand_in.url, "--endpoint", f"large={stand_in.url}", "--policy", str(policy_file)]
    stand_in.script = [UNSURE, SURE]
    status, output, _ = decide(*asked, str(EXAMPLES / "refund.json"))
    assert status == 0
    assert "R-1: What should happen with this refund request?" in output
    assert "40.0 %" in output
    assert "90.0 %" in output
    assert output.index("40.0 %") < output.index("\n  large:\n") < output.index("90.0 %")
    assert output.splitlines()[-1] == "  outcome approve: large chose approve, which passes from 0.6 on"
    stand_in.script = [UNSURE, UNSURE]
    status, output, _ = decide(*asked, str(EXAMPLES / "refund.json"), "--json")
    outcome = Outcome.model_validate_json(output)
    assert (status, outcome.option, len(outcome.answers)) == (0, None, 2)


def test_the_key_goes_to_the_address_asked_and_to_no_other(
    stand_in: StandIn, policy_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = ["--url", stand_in.url, "--endpoint", f"large={stand_in.url}", "--policy", str(policy_file)]
    for value, sent in (("tulip", "Bearer tulip"), ("", None)):
        monkeypatch.setenv("SEMIF_API_KEY", value)
        stand_in.script = [UNSURE, SURE, UNSURE]
        assert decide(*asked, str(EXAMPLES / "refund.json"))[0] == 0
        assert decide("--url", stand_in.url, str(EXAMPLES / "refund.json"))[0] == 0
        keys = [headers.get("Authorization") for headers in stand_in.headers[-3:]]
        assert keys == [sent, None, sent]


def test_the_command_asks_nobody_where_a_rule_decides(stand_in: StandIn) -> None:
    request = json.loads((EXAMPLES / "refund.json").read_bytes())
    request["decision"]["state"]["order"]["amount"] = 501
    policy_option = ["--policy", str(EXAMPLES / "refunds.policy.toml")]
    status, output, _ = decide("--url", stand_in.url, *policy_option, "-", text=json.dumps(request))
    assert (status, stand_in.bodies) == (0, [])
    assert output.endswith("  a person decides: rule 'large amount': order.amount > 500\n")


@pytest.mark.parametrize(
    ("file", "endpoint", "message"),
    [
        (
            "two-questions.json",
            "large=http://127.0.0.1:1",
            "has the form 'decisions', one decision is wanted here",
        ),
        (
            "routing.json",
            "large=http://127.0.0.1:1",
            "policy 'refunds' has no threshold for the option 'billing'",
        ),
        (
            "refund.json",
            "small=http://127.0.0.1:1",
            "give NAME=URL, once for a name of the policy's fallback (large)",
        ),
        ("refund.json", "large", "give NAME=URL, once for a name of the policy's fallback (large)"),
    ],
)
def test_what_a_policy_cannot_judge_is_told(
    stand_in: StandIn, policy_file: Path, file: str, endpoint: str, message: str
) -> None:
    asked = ["--url", stand_in.url, "--policy", str(policy_file), "--endpoint", endpoint]
    status, output, error = decide(*asked, str(EXAMPLES / file), "--json")
    assert (status, output, stand_in.bodies) == (1, "", [])
    assert message in error


def test_where_the_fallbacks_endpoint_is_has_to_be_said(stand_in: StandIn, policy_file: Path) -> None:
    asked = ("--url", stand_in.url, "--policy", str(policy_file), str(EXAMPLES / "refund.json"))
    status, output, error = decide(*asked)
    assert (status, output, stand_in.bodies) == (1, "", [])
    assert "asks 'large', which is no environment; give its address by --endpoint large=URL" in error


def test_an_endpoint_goes_with_a_policy() -> None:
    status, _, error = decide(
        "--url", "http://127.0.0.1:1", "--endpoint", "a=b", str(EXAMPLES / "refund.json")
    )
    assert (status, "--endpoint goes with --policy" in error) == (2, True)


def test_the_example_application(adapter_url: str, tmp_path: Path) -> None:
    """What the model must not decide it is not asked, and what was decided is written down."""
    audit = tmp_path / "audit.jsonl"
    program = [sys.executable, str(EXAMPLES / "gate_refunds.py"), "--url", adapter_url]
    run = subprocess.run(
        [*program, str(EXAMPLES / "refunds.jsonl"), "--audit", str(audit)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert (run.returncode, run.stderr) == (0, "")
    done = dict(line.split(": ", 1) for line in run.stdout.splitlines())
    outcomes = {
        outcome.decision: outcome
        for outcome in map(Outcome.model_validate_json, audit.read_text().splitlines())
    }
    requests = {
        request["id"]: request
        for request in map(json.loads, (EXAMPLES / "refunds.jsonl").read_text().splitlines())
    }
    assert done.keys() == requests.keys()
    assert done["R-3"] == "refused: tom may not pay back 80"
    assert done["R-5"] == "refused: eve may not pay back 5"
    assert outcomes.keys() == requests.keys() - {"R-3", "R-5"}
    assert done["R-2"] == "waits for a person: rule 'large amount': order.amount > 500"
    assert done["R-6"] == "rejected"
    assert [outcomes[name].answers for name in ("R-2", "R-6")] == [(), ()]
    assert outcomes["R-4"].option != "approve"
    for name, outcome in outcomes.items():
        assert outcome.policy_sha256 == load_policy(EXAMPLES / "refunds.policy.toml").sha256
        assert done[name].startswith("paid") == (outcome.option == "approve")
        assert done[name].startswith("waits") == outcome.needs_person
        assert requests[name]["message"] not in audit.read_text()


def test_the_page_shows_what_is_in_the_examples() -> None:
    page = (project_root() / "docs" / "policy.md").read_text()
    program = (EXAMPLES / "gate_refunds.py").read_text()
    heart = program[program.index("def handle(") : program.index("def main(")].rstrip()
    assert (EXAMPLES / "refunds.policy.toml").read_text() in page
    assert heart in page


@pytest.mark.parametrize(
    ("name", "message"),
    [("nowhere", "asks 'nowhere', which is no environment"), ("text", "text is of kind 'text'")],
)
def test_a_further_endpoint_without_an_address_is_an_environment(
    stand_in: StandIn, tmp_path: Path, name: str, message: str
) -> None:
    path = tmp_path / "second.policy.toml"
    path.write_text((EXAMPLES / "refunds.policy.toml").read_text() + f'endpoints = ["{name}"]\n')
    status, _, error = decide("--url", stand_in.url, "--policy", str(path), str(EXAMPLES / "refund.json"))
    assert (status, message in error, stand_in.bodies) == (1, True, [])
