"""The benchmark of the engine: a run measures everybody and says so. What it measures is not asserted."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent

STRATEGIES = {"semif engine", "full prompt", "state restore", "the limit"}
PRODUCTS = {"semif", "llama-server default", "llama-server best", "llama-server /v1/systemone"}


@pytest.fixture(scope="module")
def output(tiny_gguf: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that a quick run on a tiny model filled."""
    folder = tmp_path_factory.mktemp("bench")
    command = ["-m", "bench.engine", "--quick", "--model", str(tiny_gguf()), "--output", str(folder)]
    done = subprocess.run([sys.executable, *command], cwd=ROOT, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (folder / "stdout").write_text(done.stdout)
    return folder


def test_everybody_is_measured_in_every_case(output: Path) -> None:
    samples = json.loads((output / "report.json").read_text())["samples"]
    assert [case.split()[0] for case in samples] == ["W1", "W2", "W2", "W3"]
    for case, by in samples.items():
        extra = {"schema restore"} if case.startswith("W1") else set()
        at_once = {"llama-server default, at once"} if case == "W2 50 tokens x 8" else set()
        assert set(by) == STRATEGIES | PRODUCTS | extra | at_once
        for found in by.values():
            assert len(found["wall"]) == len(found["cpu"]) == 1
            assert found["wall"][0] > 0
            assert found["cpu"][0] > 0


def test_the_load_is_given_to_all_servers_and_nothing_is_refused(output: Path) -> None:
    load = json.loads((output / "report.json").read_text())["load"]
    assert {"semif", "semif, one after another", "llama-server default", "llama-server best"} <= set(load)
    assert all(figures["refused"] == [0] for figures in load.values())


def test_each_bar_says_whether_it_was_met(output: Path) -> None:
    report = json.loads((output / "report.json").read_text())
    assert report["bars"]
    assert all(bar["met"] == (bar["median"] >= bar["wanted"]) for bar in report["bars"])
    text = (output / "report.md").read_text()
    assert text.count("**short of the bar**") == sum(not bar["met"] for bar in report["bars"])


def test_the_machine_and_what_ran_are_described(output: Path) -> None:
    machine = json.loads((output / "report.json").read_text())["machine"]
    assert machine["cpus"] >= machine["threads"] >= 1
    assert machine["model"]["name"] == "tiny-qwen3"
    assert all(machine[key] for key in ("cpu", "llama_cpp", "commit", "load_average_at_start", "date"))


def test_the_tables_are_printed_and_the_pictures_drawn(output: Path) -> None:
    assert (output / "report.md").read_text() in (output / "stdout").read_text()
    for name in ("times.png", "ratios.png"):
        assert (output / name).read_bytes().startswith(b"\x89PNG")
