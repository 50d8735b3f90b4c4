"""The built image as SageMaker runs it: `serve`, no network, the model mounted, process 1, SIGTERM."""

import json
from pathlib import Path

import pytest

from semif.models.presets import load_preset
from semif.project.root import project_root
from tests.image.conftest import Built, Container, Start

EXAMPLE = project_root() / "examples" / "routing.json"


@pytest.fixture(scope="module")
def serving(start: Start) -> Container:
    """Started with a setting of ours, ready."""
    container = start("serve", SEMIF_CONTEXT_TOKENS="1024", SEMIF_STREAMS="2", SEMIF_METRICS="off")
    container.wait_until("state: ready")
    return container


def test_it_answers_a_decision_on_the_embedded_model(serving: Container) -> None:
    decided = serving.semif("decide", "--url", "http://127.0.0.1:8080", str(EXAMPLE), "--json")
    assert decided.returncode == 0, decided.stderr
    result = json.loads(decided.stdout)["result"]
    assert sum(result["probabilities"]) == pytest.approx(1)
    assert result["model"]["sha256"] == load_preset("embedded").model.sha256


def test_its_settings_are_those_of_the_models_environment(serving: Container) -> None:
    decision = {"id": "a", "state": "word " * 1500, "question": "q", "options": [{"id": "x"}, {"id": "y"}]}
    path = serving.log.with_name("long.json")
    path.write_text(json.dumps({"decision": decision}))
    refused = serving.semif("decide", "--url", "http://127.0.0.1:8080", str(path))
    assert refused.returncode == 1
    assert "1024" in refused.stderr.replace(",", "")


def test_it_has_no_network(serving: Container) -> None:
    links = json.loads(serving.inside("ip", "-json", "link").stdout)
    assert [link["ifname"] for link in links] == ["lo"]
    assert json.loads(serving.inside("ip", "-json", "route").stdout or "[]") == []


def test_its_log_is_lines_of_json_without_anybodys_text(serving: Container) -> None:
    lines = [json.loads(line) for line in serving.lines]
    assert lines
    state = json.loads(EXAMPLE.read_text())["decision"]["state"]
    assert state not in serving.log.read_text()
    assert "word word" not in serving.log.read_text()


def test_sigterm_ends_it_well(serving: Container) -> None:
    """The last of this container's tests. It ran where nothing but /tmp could be written."""
    assert serving.stop() == 0
    assert json.loads(serving.lines[-1])


def test_without_an_argument_of_sagemakers_it_serves_too(start: Start, built: Built) -> None:
    container = start(*built.config["config"]["Cmd"], SEMIF_STREAMS="2", SEMIF_CONTEXT_TOKENS="512")
    container.wait_until("state: ready")
    assert container.stop() == 0


@pytest.mark.parametrize(
    ("arguments", "variables", "status", "told"),
    [
        (["train"], {}, 64, "unknown arguments ['train'], the only one is serve"),
        (["serve"], {"SEMIF_STREAMS": "none"}, 1, "SEMIF_STREAMS"),
        (["serve"], {"SEMIF_GPU_LAYERS": "99"}, 1, "GPU"),
    ],
)
def test_what_it_cannot_do_ends_it_with_one_line(
    start: Start, arguments: list[str], variables: dict[str, str], status: int, told: str
) -> None:
    container = start(*arguments, **variables)
    assert container.process.wait(60) == status
    assert told in container.lines[-1]
    assert "Traceback" not in container.log.read_text()


def test_a_folder_without_a_model_ends_it_with_one_line(start: Start, tmp_path: Path) -> None:
    container = start("serve", model=tmp_path)
    assert container.process.wait(60) == 1
    assert "/opt/ml/model" in container.lines[-1]
