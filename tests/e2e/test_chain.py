"""The whole chain through the real command line: stacks, builds, lock, endpoint, decisions, and nothing left.

It runs in a copy of the project, so that a developer's own `.semif` is neither seen nor touched. The model
has two of its layers here, and no image is built: `make demo` asks the whole one for decisions, and
tests/image/test_whole_chain.py builds both as CodeBuild does.
"""

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from semif.evaluation.runs.run_file import read_run
from semif.lock.lock_file import BuiltImage, UnbuiltImage, read_lock
from semif.models.presets import load_preset
from semif.models.sources.verify import file_sha256
from semif.target import local_server
from semif_adapter.contract.probabilities import softmax
from tests.support.checkout import (
    build_little,
    copy_project,
    pin_model,
    semif,
    wait_until_nothing_runs,
)
from tests.support.runs.calibrations import TEMPERATURE, calibration, write_calibration

STACKS = ["Semif-demo-Endpoint", "Semif-demo-Artifacts"]


@pytest.fixture(scope="module")
def builds_all() -> bool:
    """Whether an image is built, and a model with wheels of the build's own."""
    return False


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory, short_gguf: Path, builds_all: bool) -> Iterator[Path]:
    """A copy of the project, its model calibrated, in which `semif deploy demo --local` has passed."""
    project = copy_project(tmp_path_factory.mktemp("chain"))
    pin_model(project, "embedded", short_gguf)
    write_calibration(project / "models" / "embedded.calibration.json", calibration(file_sha256(short_gguf)))
    with (project / "models" / "embedded.toml").open("a") as preset:
        preset.write('\n[calibration]\nfile = "embedded.calibration.json"\n')
    with pytest.MonkeyPatch.context() as patch:
        if not builds_all:
            build_little(project, patch)
        try:
            deployed = semif(project, "deploy", "demo", "--local", "--json")
            assert deployed.returncode == 0, deployed.stderr
            assert json.loads(deployed.stdout)["endpoint"] == "semif-demo"
            assert "endpoint: Creating (" in deployed.stderr
            assert "endpoint: InService, 1 of 1 instances (" in deployed.stderr
            yield project
        finally:
            local_server.stop_server(project)


def test_the_lock_pins_what_was_built(
    project: Path, builds_all: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEMIF_PROJECT", str(project))
    lock = read_lock(local_server.lock_path(project, "demo"))
    assert isinstance(lock.image, BuiltImage if builds_all else UnbuiltImage)
    assert lock.model.manifest_sha256 == load_preset("embedded").manifest().sha256
    assert not (project / "environments" / "demo.lock.json").exists()


def test_status_says_that_the_endpoint_runs_what_the_lock_pins(project: Path) -> None:
    status = semif(project, "status", "demo", "--local", "--json")
    told = json.loads(status.stdout)
    assert (status.returncode, told["problems"]) == (0, [])
    assert told["endpoint"]["status"] == "InService"
    assert told["endpoint"]["model_data"] == told["lock"]["model"]["s3_uri"]
    assert told["stacks"] == dict.fromkeys(reversed(STACKS), "CREATE_COMPLETE")


def test_the_containers_lines_are_shown(project: Path) -> None:
    logs = semif(project, "logs", "demo", "--local")
    assert logs.returncode == 0, logs.stderr
    assert " INFO state: ready model={" in logs.stdout
    assert " INFO request method=POST path=/invocations status=200 " in logs.stdout


def test_the_deployed_lock_comes_back_in_place_of_another(project: Path) -> None:
    path = local_server.lock_path(project, "demo")
    deployed = path.read_bytes()
    alone = semif(project, "rollback", "demo", "--local", "--yes")
    assert alone.returncode == 1
    assert "this checkout has seen no deployment of other pins" in alone.stderr
    path.write_bytes(b"{}")
    back = semif(project, "rollback", "demo", "--local", "--yes")
    assert back.returncode == 0, back.stderr
    assert path.read_bytes() == deployed


@pytest.mark.parametrize("example", ["routing.json", "yes-or-no.json", "two-questions.json"])
def test_the_endpoint_answers_the_examples(project: Path, short_gguf: Path, example: str) -> None:
    decided = semif(project, "decide", "demo", f"examples/{example}", "--local", "--json")
    assert decided.returncode == 0, decided.stderr
    reply = json.loads(decided.stdout)
    for result in reply.get("results") or [reply["result"]]:
        assert sum(result["probabilities"]) == pytest.approx(1)
        assert result["model"]["sha256"] == file_sha256(short_gguf)
        assert result["calibration"]["temperature"] == TEMPERATURE
        calibrated = softmax(np.array(result["option_logits"]) / TEMPERATURE)
        assert result["probabilities"] == pytest.approx(calibrated.tolist())


def test_the_endpoint_answers_a_file_of_decisions(project: Path) -> None:
    decided = semif(project, "decide", "demo", "examples/requests.jsonl", "--local", "--concurrency", "3")
    assert decided.returncode == 0, decided.stderr
    records = [json.loads(line) for line in decided.stdout.splitlines()]
    assert {record["line"] for record in records} == set(range(1, 7))
    assert {record["status"] for record in records} == {"answered"}


def test_labelled_tasks_are_asked_and_the_lock_is_in_the_run(project: Path) -> None:
    run_it = ("evaluate", "run", "demo", "examples/labelled.jsonl", "--local", "--limit", "2", "-o")
    asked = semif(project, *run_it, "run.jsonl")
    assert asked.returncode == 0, asked.stderr
    run = read_run(project / "run.jsonl")
    lock = read_lock(local_server.lock_path(project, "demo"))
    assert (run.header.target.kind, run.header.target.name) == ("endpoint", "semif-demo")
    assert run.header.pins.model_data == lock.model.address
    assert run.header.pins.image == (str(lock.image.uri) if isinstance(lock.image, BuiltImage) else None)
    assert run.header.pins.model is not None
    assert run.header.pins.model.name == "embedded"
    assert [record.status for record in run.records] == ["answered"] * 2
    written = semif(project, *run_it, "no.jsonl", "--as", "chat")
    assert (written.returncode, written.stdout) == (1, "")
    assert written.stderr.startswith("semif: demo is of kind 'decision' and does not answer --as chat")


def test_the_containers_refusal_comes_through_sagemaker_as_one_line(project: Path) -> None:
    wrong = '{"decision": {"id": "a", "state": "s", "question": "q", "options": []}}'
    refused = semif(project, "decide", "demo", "-", "--local", text=wrong)
    assert refused.returncode == 1
    assert refused.stderr.startswith("semif: the container answered 400 invalid_request")
    assert refused.stderr.count("\n") == 1


def refusal_of_a_long_prompt(project: Path) -> str:
    """Without the signs between thousands."""
    decision = {"id": "a", "state": "word " * 5000, "question": "q", "options": [{"id": "x"}, {"id": "y"}]}
    refused = semif(project, "decide", "demo", "-", "--local", text=json.dumps(decision))
    assert refused.returncode == 1
    assert "400 prompt_too_long" in refused.stderr
    return refused.stderr.replace(",", "")


def test_a_prompt_that_is_too_long_is_refused_with_the_counts(project: Path) -> None:
    assert "2048" in refusal_of_a_long_prompt(project)


def test_what_nothing_names_is_pruned_and_what_the_lock_names_is_not(project: Path) -> None:
    pruned = semif(project, "prune", "demo", "--local", "--keep", "0", "--yes", "--json")
    assert pruned.returncode == 0, pruned.stderr
    items = json.loads(pruned.stdout)["items"]
    kept = {(item["kind"], item["kept_by"]) for item in items if item["kept_by"]}
    assert {("model", "demo.lock.json"), ("source", "demo.lock.json")} <= kept
    gone = [item["kind"] for item in items if not item["kept_by"]]
    assert gone == ["source"], "that of the model's build, which no lock names"


def test_a_second_build_changes_nothing(project: Path) -> None:
    path = local_server.lock_path(project, "demo")
    before = path.read_bytes()
    built = semif(project, "build", "demo", "--local", "--json")
    assert built.returncode == 0, built.stderr
    assert built.stdout.encode() == before == path.read_bytes()


def test_what_is_promoted_is_deployed_and_nothing_is_built(project: Path) -> None:
    environments = project / "environments"
    (environments / "live.toml").write_text((environments / "demo.toml").read_text())
    try:
        promoted = semif(project, "promote", "demo", "live", "--local", "--json")
        assert promoted.returncode == 0, promoted.stderr
        assert "deploy Semif-live-Artifacts" in promoted.stderr
        lock = read_lock(local_server.lock_path(project, "live"))
        assert promoted.stdout.encode() == lock.canonical_bytes()
        tried = read_lock(local_server.lock_path(project, "demo"))
        assert lock.built_in == tried.origin
        assert lock.model.bucket != tried.model.bucket
        assert lock.model.archive_sha256 == tried.model.archive_sha256
        deployed = semif(project, "deploy", "live", "--local", "--json")
        assert deployed.returncode == 0, deployed.stderr
        assert "take the image and the model that were promoted (built in demo)" in deployed.stderr
        assert "build the image and the model" not in deployed.stderr
        assert read_lock(local_server.lock_path(project, "live")) == lock
    finally:
        semif(project, "destroy", "live", "--local", "--yes")
        (environments / "live.toml").unlink()


def test_diff_shows_what_a_deployment_would_change_and_else_nothing(project: Path) -> None:
    compared = semif(project, "diff", "demo", "--local", "--json")
    assert compared.returncode == 0, compared.stderr
    assert json.loads(compared.stdout) == {"different": False, "diff": ""}

    environment = project / "environments" / "demo.toml"
    text = environment.read_text()
    source = project / "adapter_image" / "semif_adapter" / "__init__.py"
    code = source.read_text()
    assert "note:" not in compared.stderr
    source.write_text(code + "# changed\n")
    environment.write_text(text.replace("context_tokens = 2048", "context_tokens = 1024"))
    changed = semif(project, "diff", "demo", "--local")
    environment.write_text(text)
    told = semif(project, "status", "demo", "--local", "--json")
    source.write_text(code)
    assert (told.returncode, len(json.loads(told.stdout)["notes"])) == (0, 1)
    assert (
        "note: adapter_image/ or buildspec.yml is not what the locked image was built from" in changed.stderr
    )
    assert changed.returncode == 0, changed.stderr
    assert "SEMIF_CONTEXT_TOKENS" in changed.stdout
    assert "AWS::SageMaker::Model" in changed.stdout


def test_a_changed_environment_is_deployed_onto_the_same_endpoint(project: Path) -> None:
    environment = project / "environments" / "demo.toml"
    text = environment.read_text()
    changed = text.replace("ml.c6i.large", "ml.c6i.xlarge")
    environment.write_text(changed.replace("context_tokens = 2048", "context_tokens = 1024") + "\n[alarms]\n")
    deployed = semif(project, "deploy", "demo", "--local", "--json")
    assert deployed.returncode == 0, deployed.stderr
    assert "endpoint: Updating, 0 of 1 instances, Creating (" in deployed.stderr
    told = json.loads(semif(project, "status", "demo", "--local", "--json").stdout)
    assert (told["problems"], told["endpoint"]["instance_types"]) == ([], ["ml.c6i.xlarge"])
    assert told["stacks"]["Semif-demo-Endpoint"] == "UPDATE_COMPLETE"
    assert "1024" in refusal_of_a_long_prompt(project)


def test_a_demo_does_not_take_away_what_is_deployed(project: Path) -> None:
    refused = semif(project, "demo")
    assert refused.returncode == 1
    assert refused.stderr.startswith("semif: demo is deployed on this machine already")
    assert semif(project, "status", "demo", "--local").returncode == 0


def test_destroy_leaves_nothing(project: Path) -> None:
    asked = semif(project, "destroy", "demo", "--local", text="n\n")
    assert asked.returncode == 1
    destroyed = semif(project, "destroy", "demo", "--local", "--yes", "--json")
    assert destroyed.returncode == 0, destroyed.stderr
    assert json.loads(destroyed.stdout)["deleted"] == STACKS
    assert local_server.find_server(project) is None
    assert not local_server.lock_path(project, "demo").exists()
    wait_until_nothing_runs(project)
    again = semif(project, "destroy", "demo", "--local", "--yes", "--json")
    assert (again.returncode, json.loads(again.stdout)["deleted"]) == (0, [])
    gone = semif(project, "decide", "demo", "examples/routing.json", "--local")
    assert (
        gone.stderr == "semif: nothing of demo is deployed on this machine; run `semif deploy demo --local`\n"
    )
