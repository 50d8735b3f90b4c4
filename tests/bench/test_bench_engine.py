"""The benchmarks of the engine: a run measures everybody and says so. What it measures is not asserted."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from bench.engine.__main__ import main
from bench.engine.report.keep import keep_run, keep_section
from bench.engine.rounds import bars
from bench.engine.rounds.measure import Quartiles, Samples
from bench.engine.rounds.record import Record
from bench.gpu.__main__ import page
from bench.gpu.device import Device
from bench.settings import tiles

ROOT = Path(__file__).parent.parent.parent

STRATEGIES = {"semif engine", "full prompt", "state restore", "the limit"}
PRODUCTS = {"semif", "llama-server best"}
SYSTEM_ONE = "llama-server /v1/systemone"
DEFAULTS = {"llama-server default", "llama-server default, at once"}


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
    samples = json.loads((output / "report.json").read_text())["record"]["results"]
    assert [case.split()[0] for case in samples] == ["W1", "W2", "W2", "W2", "W2", "W3"]
    for case, by in samples.items():
        extra = {"schema restore", SYSTEM_ONE} if case.startswith("W1") else set()
        shared = {*DEFAULTS, SYSTEM_ONE} if case == "W2 50 tokens x 8" else set()
        joined = {"semif engine, joined"} if case.startswith("W2") and " x 1" not in case else set()
        tells_nothing_new = {"full prompt"} if " x 1" in case or "long" in case else set()
        assert set(by) == (STRATEGIES | PRODUCTS | extra | shared | joined) - tells_nothing_new
        for found in by.values():
            assert len(found["wall"]) == len(found["cpu"]) == 1
            assert found["wall"][0] > 0
            assert found["cpu"][0] > 0


def test_the_load_is_given_to_all_servers_and_nothing_is_refused(output: Path) -> None:
    load = json.loads((output / "report.json").read_text())["record"]["loads"]
    servers = {"semif", "semif, without turns", "llama-server best", "llama-server default"}
    assert {*servers, "semif, one after another"} <= set(load)
    assert all(figures["refused"] == [0] for figures in load.values())


def test_each_bar_says_whether_it_was_met(output: Path) -> None:
    report = json.loads((output / "report.json").read_text())
    assert report["bars"]
    assert all(bar["met"] == (bar["median"] >= bar["wanted"]) for bar in report["bars"])
    text = (output / "report.md").read_text()
    assert text.count("**short of the bar**") == sum(not bar["met"] for bar in report["bars"])


def test_the_machine_and_what_ran_are_described(output: Path) -> None:
    record = json.loads((output / "report.json").read_text())["record"]
    machine = record["setup"] | record["runs"][0]
    assert machine["cpus"] >= machine["threads"] >= 1
    assert machine["model"]["name"] == "tiny-qwen3"
    assert all(machine[key] for key in ("cpu", "llama_cpp", "commit", "load_average_at_start", "date"))


def test_the_tables_are_printed_and_the_pictures_drawn(output: Path) -> None:
    assert (output / "report.md").read_text() in (output / "stdout").read_text()
    for name in ("times.png", "ratios.png"):
        assert (output / name).read_bytes().startswith(b"\x89PNG")


def test_a_run_is_kept_in_the_section_of_its_model(output: Path, tmp_path: Path) -> None:
    page = tmp_path / "docs" / "measured" / "speed.md"
    for folder in ("images", "measured"):
        (tmp_path / "docs" / folder).mkdir(parents=True)
    page.with_name("other.md").write_text("# Another page\n")
    headline = tmp_path / "docs" / "performance.md"
    headline.write_text("# B\n<!-- headline-two: begin --><!-- headline-two: end -->\n")
    page.write_text("# A\n<!-- one: begin -->old<!-- one: end -->\n<!-- two: begin --><!-- two: end -->\nB\n")
    keep_run("two", output, "the command", tmp_path)
    text = page.read_text()
    assert text.startswith(
        "# A\n<!-- one: begin -->old<!-- one: end -->\n<!-- two: begin -->\n\nMeasured with"
    )
    assert text.endswith("<!-- two: end -->\nB\n")
    assert (output / "report.md").read_text().strip() in text
    assert (output / "headline.md").read_text().strip() in headline.read_text()
    pictures = re.findall(r"\((\.\./images/[^)]+)\)", text)
    assert len(pictures) == 2
    for picture in pictures:
        assert (page.parent / picture).read_bytes().startswith(b"\x89PNG")
    with pytest.raises(ValueError, match='no section "three"'):
        keep_section("three", "text", tmp_path)


def test_the_page_of_a_gpu_has_device_driver_and_every_modes_run(output: Path) -> None:
    text = page(
        [Device("L4", "570.86", "23034 MiB")], "the command", {"invariant": output, "batched": output}
    )
    assert "- L4, 23034 MiB, driver 570.86" in text
    assert "### tiny-qwen3, invariant" in text
    assert text.count((output / "report.md").read_text().strip()) == 2


def test_quartiles_are_shown_of_several_rounds_alone(output: Path) -> None:
    assert Quartiles.of([1.0, 2.0, 3.0, 4.0, 5.0]).shown() == "3.00 (2.00-4.00)"
    assert Quartiles.of([1.0, 2.0, 3.0, 4.0]).shown() == "2.50"
    assert Quartiles.of([0.002]).shown(1, 1000) == "2.0"
    tables = [line for line in (output / "report.md").read_text().splitlines() if line.startswith("| ")]
    assert tables
    assert not [line for line in tables if re.search(r"\d \(\d", line)]


def test_a_run_goes_on_from_what_was_measured(
    output: Path, tiny_gguf: Callable[..., Path], tmp_path: Path
) -> None:
    shutil.copy(output / "report.json", tmp_path)
    command = ["-m", "bench.engine", "--quick", "--model", str(tiny_gguf()), "--output", str(tmp_path)]
    command += ["--add", "--rounds", "2", "--only", "tokens x 1"]
    done = subprocess.run([sys.executable, *command], cwd=ROOT, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    record = Record.read(tmp_path)
    assert {case.split()[0] + case[-1]: rounds for case, rounds in record.rounds.items()} == {
        "W1s": 1,
        "W21": 2,
        "W28": 1,
        "W2s": 1,
        "W2n": 1,
        "W3t": 1,
        "W4s": 1,
    }
    assert len(record.runs) == 2
    assert re.findall("bench.engine: (round .*):", done.stderr) == ["round 2 of 2, W2 50 tokens x 1"]
    with pytest.raises(ValueError, match="runs differ in commit: "):
        record.check_setup(record.setup | {"commit": "another"})


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--rounds", "4"], r"at least 5 rounds .* W2 1800 tokens x 8 long questions, state known \(4\)"),
        (["--only", "W2 50"], r"too few have W1 one schema x 8 states \(0\)"),
        (["--only", "W5"], "--only W5: no case has that in its name; choose among W1"),
        (["--add"], "no report to add to"),
        (["--model", "qwen3-0.6b-q8_0"], 'has no section "qwen3-0.6b-q8_0"'),
    ],
)
def test_nothing_is_kept_of_too_little(
    arguments: list[str],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sys, "argv", ["bench.engine", "--keep", "--output", str(tmp_path), *arguments])
    assert main() == 1
    assert re.search(said, capsys.readouterr().err)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("mode", "share", "wanted", "remark"),
    [
        ("invariant", 0.92, 0.90, ""),
        ("invariant", 0.88, 0.90, "; none of its passes is padded"),
        ("batched", 0.92, 0.95, ""),
    ],
)
def test_the_limit_asks_more_of_questions_that_share_their_passes(
    mode: str, share: float, wanted: float, remark: str
) -> None:
    samples = {
        "semif engine": Samples(wall=[2.0] * 5, cpu=[1.0] * 5),
        "the limit": Samples(wall=[1.0] * 5, cpu=[share] * 5),
    }
    case = "W2 1800 tokens x 8 long questions"
    (row,) = bars.check({case: samples}, hybrid=False, mode=mode, clock="cpu", padded={})
    assert (row["wanted"], row["remark"]) == (wanted, remark)
    assert row["met"] == (share > wanted)  # by CPU time, not by the wall clock


def test_each_setting_is_measured_beside_the_adapters_own(tiny_gguf: Callable[..., Path]) -> None:
    command = ["-m", "bench.settings", "--model", str(tiny_gguf()), "--rounds", "1", "--only", "f32"]
    done = subprocess.run([sys.executable, *command], cwd=ROOT, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    rows = [line.split(" | ")[0] for line in done.stdout.splitlines() if line.startswith("| ")]
    assert rows == ["| setting", "| the adapter's", "| keys and values in f32"]


def test_padded_passes_are_measured_beside_plain_ones(
    tiny_gguf: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["tiles", str(tiny_gguf()), "--rounds", "1", "--depths", "80"])
    tiles.main()
    told = [
        line.split(" | ")[1:4:2] for line in capsys.readouterr().out.splitlines() if line.startswith("| 80 |")
    ]
    assert [(count, "padded" in ruled) for count, ruled in told] == [
        ("28", False),
        ("35", False),
        ("42", False),
        ("48", True),
        ("56", True),
        ("63", True),
    ]


def test_the_profile_tells_parts_in_process_and_over_http(tiny_gguf: Callable[..., Path]) -> None:
    command = ["-m", "bench.profile", "--model", str(tiny_gguf()), "--decisions", "2"]
    done = subprocess.run([sys.executable, *command], cwd=ROOT, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    cells = [line.strip("| ").split(" | ") for line in done.stdout.splitlines() if line.startswith("| ")]
    passes = next(row for row in cells if row[0].startswith("forward passes"))
    assert float(passes[1]) > 0
    assert float(passes[3]) > 0
    assert cells[-1][0].startswith("outside the passes")
