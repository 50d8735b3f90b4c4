"""`semif env`: checks and shows environment files with no account, no network and no lock."""

import json
import shutil
import socket
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from semif.cli import main
from semif.environment.environment import environment_names
from tests.infra.matrix import environment_file

ROOT = Path(__file__).resolve().parents[3]
WRONG = """kind = "decision"
removal = "destroy"
colour = "red"
[model]
preset = "nothing"
[endpoint]
instance_pool = ["ml.g6.xlarge", "ml.c7g.large"]
"""


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("an environment file was not enough")

    for name in ("AWS_PROFILE", "AWS_ACCESS_KEY_ID", "AWS_DEFAULT_REGION", "AWS_REGION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(socket.socket, "connect", refuse)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with the presets, the base images, and no environments."""
    folder = tmp_path / "project"
    shutil.copytree(ROOT / "models", folder / "models")
    shutil.copytree(ROOT / "adapter_image", folder / "adapter_image", ignore=shutil.ignore_patterns("semif*"))
    (folder / "environments").mkdir()
    monkeypatch.setenv("SEMIF_PROJECT", str(folder))
    return folder


def write(project: Path, name: str, text: str) -> None:
    (project / "environments" / f"{name}.toml").write_text(text)


def case(path: str, network: str = "none", *, encrypted: bool = False) -> str:
    return environment_file(
        {
            "path": path,
            "network": network,
            "encrypted": encrypted,
            "operation": "still",
            "walled": False,
            "mode": "realtime",
            "retained": False,
            "bounded": False,
            "uncompressed": False,
        }
    )


def semif(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["env", *arguments])


def shown(name: str) -> dict[str, Any]:
    done = semif("show", name, "--json")
    assert done.exit_code == 0, done.output
    view: dict[str, Any] = json.loads(done.stdout)
    return view


def test_the_shipped_environments_are_ok() -> None:
    done = semif("check")
    assert done.exit_code == 0
    assert done.stdout.splitlines() == [f"{name}: ok" for name in environment_names()]


def test_all_problems_of_all_files_are_told_at_once(project: Path) -> None:
    write(project, "cpu", case("cpu"))
    write(project, "wrong", WRONG)
    write(project, "broken", "kind = ")
    write(project, "arm", case("graviton"))
    done = semif("check")
    assert done.exit_code == 1
    assert "cpu: ok" in done.stdout.splitlines()
    answer = json.loads(semif("check", "--json").stdout)
    assert answer["ok"] is False
    told = {entry["environment"]: entry["problems"] for entry in answer["environments"]}
    assert list(told) == ["arm", "broken", "cpu", "wrong"]
    for problem in (problem for problems in told.values() for problem in problems):
        assert problem in done.stdout
    assert told["cpu"] == []
    (pin,) = told["arm"]
    assert "pins no digest for graviton" in pin
    (syntax,) = told["broken"]
    assert "is not TOML" in syntax
    for problem, said in zip(
        told["wrong"], ("colour is not a known key", "there is no preset 'nothing'", "mix accel"), strict=True
    ):
        assert said in problem


def test_one_environment_is_checked_alone(project: Path) -> None:
    write(project, "cpu", case("cpu"))
    write(project, "wrong", WRONG)
    assert semif("check", "cpu").exit_code == 0
    assert semif("check", "cpu", "wrong").exit_code == 1
    unknown = semif("check", "nowhere")
    assert unknown.exit_code == 1
    assert "there is no environment 'nowhere', known are cpu, wrong" in unknown.stdout


def test_a_warning_is_told_and_is_no_failure(project: Path) -> None:
    write(project, "gpu", case("cuda", encrypted=True))
    done = semif("check", "gpu")
    assert done.exit_code == 0
    assert done.stdout.startswith("gpu: ok\n  warning: volume_size_gb = 40 is left out: ml.g6.xlarge")
    (entry,) = json.loads(semif("check", "--json").stdout)["environments"]
    assert len(entry["warnings"]) == 2


@pytest.mark.parametrize(
    ("path", "types", "accelerators", "variable"),
    [
        ("cpu", ["ml.c6i.xlarge"], ["cpu"], "SEMIF_ENDPOINT_NAME"),
        ("cuda", ["ml.g6.xlarge", "ml.g5.xlarge"], ["cuda", "cuda"], "SEMIF_GPU_LAYERS"),
        ("graviton", ["ml.c7g.xlarge", "ml.c6gd.xlarge"], ["graviton", "graviton"], "SEMIF_ENDPOINT_NAME"),
        ("text-fallback", ["ml.g6.xlarge", "ml.c6i.4xlarge"], ["cuda", "cpu"], "SM_LLAMA_CPP_N_GPU_LAYERS"),
    ],
)
def test_show_tells_what_an_environment_comes_to(
    project: Path, path: str, types: list[str], accelerators: list[str], variable: str
) -> None:
    write(project, path, case(path))
    view = shown(path)
    assert [instance["instance_type"] for instance in view["instances"]] == types
    assert [instance["accelerator"] for instance in view["instances"]] == accelerators
    assert view["endpoint_name"] == f"semif-{path}"
    assert variable in view["container_variables"]
    image = view["pins"]["base_image"]
    assert (image["pinned"] is None) == (image["problem"] is not None) == (path == "graviton")
    assert view["pins"]["model"]["sha256"].startswith("b179c952")
    need = view["memory_needed"]
    assert need["memory_bytes"] + need["gpu_memory_bytes"] >= need["weights_bytes"] == 98_362_432
    assert (need["gpu_memory_bytes"] > 0) == (accelerators[0] == "cuda")
    for instance in view["instances"]:
        assert need["memory_bytes"] < instance["usable_memory_bytes"] < instance["memory_bytes"]
    text = semif("show", path).stdout
    for word in (
        *types,
        variable,
        view["pins"]["model"]["manifest_sha256"],
        image["pinned"] or "pins no dig",
    ):
        assert word in text
    assert ("memory needed on ml.c6i.4xlarge, estimated" in text) == (path == "text-fallback")


def test_show_tells_where_each_value_is_from(project: Path) -> None:
    text = case("cuda").replace("volume_size_gb = 40", "startup_timeout_seconds = 500")
    write(project, "gpu", text + "[adapter]\nstreams = 2\n[scaling]\nmax_instance_count = 3\n")
    view = shown("gpu")
    settings = {entry["key"]: (entry["value"], entry["source"]) for entry in view["settings"]}
    assert settings["endpoint.startup_timeout_seconds"] == (500, "from the file")
    assert settings["endpoint.model_download_timeout_seconds"] == (360, "from the model's size")
    assert settings["scaling.scale_out_cooldown_seconds"] == (430, "from the model's size")
    assert settings["scaling.max_instance_count"] == (3, "from the file")
    assert settings["adapter.streams"] == (2, "from the file")
    assert settings["adapter.context_tokens"] == (4096, "default")
    assert settings["adapter.gpu_layers"] == (-1, "from the instance type")
    assert not [key for key in settings if key.startswith(("text", "adapter.port", "adapter.api_key"))]


def test_the_schema_is_printed_as_json() -> None:
    done = semif("schema")
    assert done.exit_code == 0
    assert json.loads(done.stdout)["title"] == "Semif environment"
