"""A cascade from labels to decisions: two servers asked, a policy written, single decisions under it."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from semif.cli import main
from semif.policy import Outcome, load_policy
from semif.testing.answers import reply_to
from semif_adapter.contract.wire import Decision
from tests.support.runs.synthetic_runs import record, write_run
from tests.support.servers.running import running
from tests.support.servers.sagemaker_stand_in import Reply, StandIn

QUESTION = "Who handles this?"
OPTIONS = [{"id": "billing", "description": "Money"}, {"id": "shipping", "description": "Parcels"}]


class Model(StandIn):
    """A model behind real HTTP, which answers by the number in a state and names itself by a hash."""

    def __init__(self, digit: str, sure_of_all: bool) -> None:
        super().__init__()
        self.sha256, self.sure_of_all = digit * 64, sure_of_all

    def answer(self, path: str, body: bytes) -> Reply:
        said = reply_to(body, self.weighed)
        return Reply(200, said.replace(b"0" * 64, self.sha256.encode()))

    def weighed(self, decision: Decision) -> Any:
        """Billing is right for even numbers. Of every third one the small model is not sure, and wrong."""
        if decision.question != QUESTION:  # what `evaluate run` asks first, to learn who answers
            return decision.options[0].id
        assert isinstance(decision.state, str)
        number = int(decision.state.rpartition(" ")[2])
        right, wrong = ("billing", "shipping") if number % 2 == 0 else ("shipping", "billing")
        if self.sure_of_all:
            return {right: 0.8, wrong: 0.2} if number < 1000 else {right: 0.55, wrong: 0.45}
        return {wrong: 0.6, right: 0.4} if number % 3 == 0 else {right: 0.9, wrong: 0.1}


@pytest.fixture(scope="module")
def small() -> Iterator[Model]:
    with running(Model("a", sure_of_all=False)) as server:
        yield server


@pytest.fixture(scope="module")
def large() -> Iterator[Model]:
    with running(Model("b", sure_of_all=True)) as server:
        yield server


def semif(*arguments: object) -> Any:
    return CliRunner().invoke(main, [*map(str, arguments)])


def decision(number: int) -> dict[str, Any]:
    return {"id": f"t{number}", "state": f"ticket {number}", "question": QUESTION, "options": OPTIONS}


@pytest.fixture(scope="module")
def runs(small: Model, large: Model, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Of 210 tickets, as `semif evaluate run` asks them."""
    folder = tmp_path_factory.mktemp("cascade")
    tasks = folder / "tasks.jsonl"
    labels = ("billing", "shipping")
    tasks.write_text(
        "".join(json.dumps({**decision(n), "expected": labels[n % 2]}) + "\n" for n in range(210))
    )
    made = []
    for name, server in (("small", small), ("large", large)):
        made.append(folder / f"{name}.jsonl")
        done = semif("evaluate", "run", "--url", server.url, tasks, "-o", made[-1])
        assert done.exit_code == 0, done.output
    return made[0], made[1]


def decide(policy: Path, number: int, first: Model, second: Model, tmp_path: Path) -> Outcome:
    request = tmp_path / "request.json"
    request.write_text(json.dumps({"decision": decision(number)}))
    addresses = ("--url", first.url, "--endpoint", f"large={second.url}")
    done = semif("decide", *addresses, "--policy", policy, request, "--json")
    assert done.exit_code == 0, done.output
    return Outcome.model_validate_json(done.stdout)


def test_each_model_is_held_to_its_own_threshold(
    runs: tuple[Path, Path], small: Model, large: Model, tmp_path: Path
) -> None:
    policy = tmp_path / "tickets.policy.toml"
    done = semif("calibrate", "cascade", *runs, "--lose", 0.05, "--large-precision", 0.9, "-o", policy)
    assert (done.exit_code, done.stderr) == (0, "")
    assert f"{policy}: written, for semif decide --policy; it asks the large model as large" in done.stdout
    assert "take the large model's answer from 0.00 on: 70 of 70 escalated, 70 right" in done.stdout
    made = load_policy(policy)
    assert made.made_for is not None
    assert made.thresholds == {"billing": 0.9, "shipping": 0.9}
    assert made.endpoints["large"].thresholds == {"billing": 0.0, "shipping": 0.0}
    hashes = [made.made_for.answerers[0].model_sha256, made.endpoints["large"].answerers[0].model_sha256]
    assert hashes == [small.sha256, large.sha256]

    sure = decide(policy, 1, small, large, tmp_path)
    assert (sure.option, sure.reason) == ("shipping", "the model chose shipping, which passes from 0.9 on")
    torn = decide(policy, 3, small, large, tmp_path)
    assert (torn.option, torn.decided_by) == ("shipping", "answer")
    assert torn.reason == "large chose shipping, which passes from 0 on"
    assert [(one.endpoint, one.kind == "answer" and one.threshold) for one in torn.answers] == [
        (None, 0.9),
        ("large", 0.0),
    ]
    assert all(one.inference_id for one in torn.answers)


def test_a_model_in_the_others_place_is_noticed(
    runs: tuple[Path, Path], small: Model, large: Model, tmp_path: Path
) -> None:
    policy = tmp_path / "p.toml"
    assert semif("calibrate", "cascade", *runs, "--escalate", 0.4, "-o", policy).exit_code == 0
    swapped = decide(policy, 1, large, small, tmp_path)
    assert (swapped.option, swapped.decided_by) == (None, "fallback")
    assert [len(one.mismatches) for one in swapped.answers if one.kind == "answer"] == [1, 1]


def test_what_the_large_model_is_not_sure_of_goes_to_a_person(
    small: Model, large: Model, tmp_path: Path
) -> None:
    """Nearly all that the large model says with 0.55 is wrong here."""
    ids = [f"t{n}" for n in range(300)]
    torn: dict[str, Any] = {"probabilities": (0.4, 0.6), "choice": "b"}
    small_run = [record(name, **(torn if n % 2 else {})) for n, name in enumerate(ids)]
    weak: dict[str, Any] = {"probabilities": (0.45, 0.55), "choice": "b"}
    large_run = [
        record(name, **(weak if n % 6 == 1 else {"probabilities": (0.8, 0.2)})) for n, name in enumerate(ids)
    ]
    files = write_run(tmp_path / "s.jsonl", small_run), write_run(tmp_path / "l.jsonl", large_run)
    policy = tmp_path / "p.toml"
    wanted = ("--escalate", 0.5, "--large-precision", 0.95)
    done = semif("calibrate", "cascade", *files, *wanted, "-o", policy, "--endpoint", "semif-big")
    assert done.exit_code == 0, done.output
    assert "does not say what it was made for" in done.stderr, "synthetic runs tell no hashes"
    assert load_policy(policy).endpoints["semif-big"].thresholds["a"] == 0.56
    told = json.loads(semif("calibrate", "cascade", *files, *wanted, "--json").stdout)
    assert (told["large_accepted"]["threshold"], told["policy"]) == (0.56, None)
    assert "tasks" not in told
    out_of_reach = semif("calibrate", "cascade", *files, "--escalate", 0.5, "--large-precision", 0.99)
    assert (out_of_reach.exit_code, "of what is escalated to the large model" in out_of_reach.stderr) == (
        1,
        True,
    )


@pytest.mark.parametrize(
    ("goal", "told"), [(("--lose", 1), "never ask the large model"), (("--lose", 0), "always ask")]
)
def test_a_cascade_that_is_none_leaves_no_policy(
    runs: tuple[Path, Path], tmp_path: Path, goal: tuple[str, float], told: str
) -> None:
    policy = tmp_path / "p.toml"
    done = semif("calibrate", "cascade", *runs, *goal, "-o", policy)
    assert (done.exit_code, policy.exists()) == (1, False)
    assert f"no policy is written, the advice is: {told}" in done.stderr


def test_a_model_of_words_has_no_place_in_a_policy(tmp_path: Path) -> None:
    ids = [f"t{number}" for number in range(60)]
    torn: dict[str, Any] = {"probabilities": (0.45, 0.55), "choice": "b"}
    small_run = [record(name, **(torn if n % 3 == 0 else {})) for n, name in enumerate(ids)]
    large_run = [record(name, probabilities=None, option_logits=None) for name in ids]
    files = write_run(tmp_path / "s.jsonl", small_run), write_run(tmp_path / "l.jsonl", large_run)
    wanted = ("calibrate", "cascade", *files, "--escalate", 0.5)
    assert semif(*wanted).exit_code == 0
    done = semif(*wanted, "-o", tmp_path / "p.toml")
    assert (done.exit_code, (tmp_path / "p.toml").exists()) == (1, False)
    assert (
        f"{files[1]} has no probabilities, by which a policy judges an answer; the advice is: " in done.stderr
    )


def test_a_policy_is_of_one_wording(runs: tuple[Path, Path], tmp_path: Path) -> None:
    other = tmp_path / "other.jsonl"
    head, *lines = runs[1].read_text().splitlines()
    changed = [json.dumps(json.loads(line) | {"question_sha256": "9" * 64}) for line in lines]
    other.write_text("\n".join([head, *changed]) + "\n")
    done = semif("calibrate", "cascade", runs[0], other, "--escalate", 0.4, "-o", tmp_path / "p.toml")
    assert done.exit_code == 1
    assert "asked in other words than" in done.stderr
