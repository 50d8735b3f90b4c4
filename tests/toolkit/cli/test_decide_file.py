"""`semif decide FILE.jsonl`: real HTTP, a tiny model, and endpoints that fail as they are told."""

import json
import signal
import subprocess
from collections.abc import Iterable
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from click.testing import CliRunner

from semif.cli import main
from semif.client.retry import Clock
from semif.project.root import project_root
from semif_adapter.contract.wire import DecisionResponse
from tests.support.runs.policies import answer
from tests.support.servers.running import running
from tests.support.servers.sagemaker_stand_in import Reply, StandIn, adapter_error
from tests.support.servers.serving import SEMIF
from tests.support.servers.stand_in import StandIn as AnyServer

EXAMPLES = project_root() / "examples"
REFUND = json.loads((EXAMPLES / "refund.json").read_bytes())["decision"]
FULL = Reply(503, adapter_error("overloaded", retry_after_seconds=0.01))
FAULT = Reply(500, adapter_error("engine_failed"))
SURE, UNSURE = (0.9, 0.06, 0.04), (0.4, 0.3, 0.3)


def says(name: str, probabilities: tuple[float, ...]) -> Reply:
    raw = answer(probabilities, name=name).raw
    return Reply(200, DecisionResponse(result=raw).model_dump_json().encode())


def refund(name: str, *, amount: float = 5) -> str:
    return json.dumps(REFUND | {"id": name, "state": REFUND["state"] | {"order": {"amount": amount}}})


def decide(*arguments: str) -> tuple[int, list[dict[str, Any]], str]:
    result = CliRunner().invoke(main, ["decide", *arguments])
    return result.exit_code, [json.loads(line) for line in result.stdout.splitlines()], result.stderr


def written(tmp_path: Path, lines: Iterable[str]) -> str:
    path = tmp_path / "asked.jsonl"
    path.write_text("\n".join(lines) + "\n")
    return str(path)


def without_chance(outcome: dict[str, Any]) -> dict[str, Any]:
    for said in outcome["answers"]:
        del said["inference_id"]
    return outcome


@pytest.fixture
def policy_file(tmp_path: Path) -> Path:
    """The example's policy, with another endpoint."""
    path = tmp_path / "second.policy.toml"
    path.write_text((EXAMPLES / "refunds.policy.toml").read_text() + 'endpoints = ["large"]\n')
    return path


def test_each_line_is_answered_as_it_would_be_alone(adapter_url: str, tmp_path: Path) -> None:
    rotated = {"decision": REFUND, "parameters": {"order_debiasing": "rotate"}}
    lines = ["", refund("one"), "{", json.dumps({"decisions": [REFUND]}), json.dumps(rotated), refund("two")]
    status, records, error = decide("--url", adapter_url, written(tmp_path, lines))
    found = {record["line"]: record for record in records}
    assert status == 1
    assert {line: record["status"] for line, record in found.items()} == {
        2: "answered",
        3: "invalid",
        4: "invalid",
        5: "answered",
        6: "answered",
    }
    assert "line 3 is not JSON, see column 2" in found[3]["error"]["message"]
    assert "line 4 has the form 'decisions'" in found[4]["error"]["message"]
    assert error.endswith("semif: 3 answered, 2 could not be asked\n")
    _, (alone,), _ = decide("--url", adapter_url, written(tmp_path, [refund("one")]))
    for name in ("option_ids", "probabilities", "prompt_sha256"):
        assert found[2]["reply"]["result"][name] == alone["reply"]["result"][name]
    assert found[6]["reply"]["result"]["id"] == "two"


def test_what_is_refused_for_a_moment_is_answered_and_a_fault_is_a_line(
    stand_in: StandIn, adapter_url: str, tmp_path: Path
) -> None:
    stand_in.behind, stand_in.script = adapter_url, [FULL, FAULT]
    file = written(tmp_path, map(refund, "abc"))
    status, records, _ = decide("--url", stand_in.url, "--concurrency", "1", file)
    assert status == 1
    assert [(record["line"], record["status"]) for record in records] == [
        (1, "failed"),
        (2, "answered"),
        (3, "answered"),
    ]
    assert records[0]["error"].keys() == {"code", "message", "inference_id"}
    assert records[0]["error"]["code"] == "engine_failed"
    assert len(stand_in.bodies) == 4


def test_a_policy_judges_each_line(stand_in: StandIn, policy_file: Path, tmp_path: Path) -> None:
    """The first endpoint is asked about all of them, the second about what the first was not sure of."""
    under = ["--url", stand_in.url, "--endpoint", f"large={stand_in.url}", "--policy", str(policy_file)]
    lines = [refund("a"), refund("b", amount=501), refund("c"), refund("d").replace('"ask"', '"other"')]
    stand_in.script = [says("a", UNSURE), says("c", SURE), says("a", SURE)]
    file = written(tmp_path, lines)
    status, records, _ = decide(*under, "--concurrency", "1", file)
    assert (status, len(stand_in.bodies)) == (1, 3)
    found = {record.pop("line"): record for record in records}
    assert list(found)[-1] == 1
    assert {line: record["outcome"]["option"] for line, record in found.items() if line < 4} == {
        1: "approve",
        2: None,
        3: "approve",
    }
    assert found[2]["outcome"]["reason"] == "rule 'large amount': order.amount > 500"
    assert found[4]["status"] == "invalid"
    assert "has no threshold for the option 'other'" in found[4]["error"]["message"]
    stand_in.script = [says("a", UNSURE), says("a", SURE)]
    one = tmp_path / "one.json"
    one.write_text(lines[0])
    _, (alone,), _ = decide(*under, "--json", str(one))
    assert without_chance(found[1]["outcome"]) == without_chance(alone)


def test_a_fallback_without_an_answer_is_an_outcome(
    stand_in: StandIn, policy_file: Path, tmp_path: Path
) -> None:
    under = ["--url", stand_in.url, "--endpoint", f"large={stand_in.url}", "--policy", str(policy_file)]
    stand_in.script = [FAULT, FAULT]
    status, (record,), _ = decide(*under, written(tmp_path, [refund("a")]))
    assert (status, record["status"], record["outcome"]["option"]) == (0, "answered", None)
    assert [said["code"] for said in record["outcome"]["answers"]] == ["engine_failed"] * 2


@pytest.mark.parametrize("with_policy", [False, True])
def test_who_may_not_ask_is_told_once(stand_in: StandIn, tmp_path: Path, with_policy: bool) -> None:
    stand_in.script = [Reply(401, adapter_error("unauthorized"))] * 3
    policy = ["--policy", str(EXAMPLES / "refunds.policy.toml")] if with_policy else []
    status, records, error = decide("--url", stand_in.url, *policy, written(tmp_path, map(refund, "abc")))
    assert (status, records) == (1, [])
    assert error.endswith("; set SEMIF_API_KEY\n")


def test_who_stops_it_is_told_what_has_a_record(tmp_path: Path) -> None:
    second_is_here, never = Event(), Event()

    def script(number: int, path: str, document: Any) -> tuple[int, bytes]:
        if number == 1:
            second_is_here.set()
            never.wait(60)
        return 200, says(document["decision"]["id"], SURE).body

    file = written(tmp_path, [refund("a"), "", "{", refund("b"), refund("c")])
    with running(AnyServer(script)) as server:
        command = [*SEMIF, "decide", "--url", server.url, "--concurrency", "1", file]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert process.stdout is not None
        lines = [json.loads(process.stdout.readline())["line"] for _ in range(2)]
        assert second_is_here.wait(60)
        process.send_signal(signal.SIGINT)
        rest, said = process.communicate(timeout=60)
        never.set()
    assert (process.returncode, lines, rest) == (130, [3, 1], "")
    told = "semif: 1 answered, 1 could not be asked; 2 lines have no record\nsemif: interrupted\n"
    assert said.endswith(told)


def test_where_no_server_is_the_first_line_tells_for_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Clock, "sleep", lambda *_: None)
    monkeypatch.setattr(Clock, "share", lambda _: 0.0)
    file = written(tmp_path, map(refund, "abc"))
    status, records, error = decide("--url", "http://127.0.0.1:1", "--concurrency", "1", file)
    assert (status, records) == (1, [])
    assert error.count("cannot be reached") == 1


def test_only_a_file_of_decisions_is_asked_at_once() -> None:
    status, _, error = decide(
        "--url", "http://127.0.0.1:1", "--concurrency", "2", str(EXAMPLES / "refund.json")
    )
    assert (status, "--concurrency goes with a FILE of decisions" in error) == (2, True)
