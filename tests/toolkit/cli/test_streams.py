"""A command whose work is done does not end badly because of the terminal it writes to."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from semif.evaluation.runs.run_file import TargetName
from tests.support.checkout import REPOSITORY
from tests.support.runs.calibration_runs import drawn
from tests.support.runs.synthetic_runs import header, write_run
from tests.support.servers.running import running
from tests.support.servers.scripted_adapter import ScriptedAdapter

ASCII = {"LC_ALL": "C", "LANG": "C", "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}


def shell(line: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """A line as it is typed, `semif` being ours; bash has pipes that tell how each part ended."""
    return subprocess.run(
        ["bash", "-c", f'semif() {{ "{sys.executable}" -m semif "$@"; }}; {line}'],
        capture_output=True,
        check=False,
        cwd=REPOSITORY,
        encoding="ascii",
        env={**os.environ, **environ},
        timeout=120,
    )


def decision(folder: Path, *options: str) -> Path:
    path = folder / "decision.json"
    request = {
        "id": "größe",
        "state": "x",
        "question": "Wie groß? \U0001f600",
        "options": [{"id": option, "description": option} for option in options],
    }
    path.write_text(json.dumps(request))
    return path


def test_an_answer_is_shown_whatever_letters_the_terminal_has(tmp_path: Path) -> None:
    file = decision(tmp_path, "größer", "日本語")
    with running(ScriptedAdapter()) as server:
        done = shell(f"semif decide --url {server.url} {file}", **ASCII)
    assert done.returncode == 0, done.stderr
    assert "73.1 %" in done.stdout
    assert r"gr\xf6\xdfer" in done.stdout
    assert done.stderr == ""


def test_tables_and_failures_are_told_in_ascii_too(tmp_path: Path) -> None:
    told = header(30, target=TargetName(kind="adapter", name="größer"))
    run = write_run(tmp_path / "run.jsonl", list(drawn(30, 1.0)), told=told)
    report = shell(f"semif evaluate report {run}", **ASCII)
    assert report.returncode == 0, report.stderr
    assert r"gr\xf6\xdfer" in report.stdout
    missing = shell("semif env show 'größe'", **ASCII)
    assert missing.returncode == 1
    assert missing.stderr.startswith("semif: ")
    assert "Traceback" not in missing.stderr


@pytest.mark.parametrize(
    ("line", "status", "told"),
    [
        ("semif model list >&-", 1, "semif: standard output: bad file descriptor\n"),
        ("semif model list --json >/dev/full", 1, "semif: standard output: no space left on device\n"),
        ("semif --help >/dev/full", 1, "semif: standard output: no space left on device\n"),
        ("semif env check dev 2>&-", 0, ""),
        ("semif env check none >&- 2>&-", 1, ""),
        ("semif model biuld 2>&-", 2, ""),
        ("semif decide --url http://127.0.0.1:9 - <&-", 1, "semif: standard input is not JSON, see column 1"),
        # A reader that has gone: the pipe is closed before anything is written.
        ("exec 3> >(exec 0<&-); wait $!; semif env show dev >&3", 1, ""),
    ],
)
def test_a_stream_that_is_closed_or_full_ends_the_command_in_order(line: str, status: int, told: str) -> None:
    done = shell(line)
    assert done.returncode == status
    assert done.stderr.startswith(told)
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
    if not told:
        assert done.stderr == ""
