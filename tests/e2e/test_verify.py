"""`semif verify demo --local` through the real command line: what it shows here, its report, nothing left.

The demo's model has two of its layers here, and no image is built: tests/image looks at both.
"""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from semif.target import local_server
from semif.verify.phases import PHASES
from tests.support.checkout import (
    build_little,
    copy_project,
    pin_model,
    processes_of,
    semif,
    wait_until_nothing_runs,
)
from tests.support.machine.waiting import eventually


@pytest.fixture
def project(tmp_path: Path, short_gguf: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    project = copy_project(tmp_path)
    pin_model(project, "embedded", short_gguf)
    build_little(project, monkeypatch)
    return project


def left_in(project: Path) -> list[str]:
    return [path.name for path in (project / "environments").iterdir() if path.name.startswith("verify-")]


def test_the_demo_is_verified_as_far_as_this_machine_is_faithful(project: Path) -> None:
    asked = semif(project, "verify", "demo", "--local", text="n\n")
    assert asked.returncode == 1
    assert "costs nothing" in asked.stderr
    assert local_server.find_server(project) is None
    verified = semif(project, "verify", "demo", "--local", "--yes", "--output", "reports", seconds=570)
    assert verified.returncode == 0, verified.stdout + verified.stderr
    (data,) = (project / "reports").glob("verify-demo-*.json")
    document = json.loads(data.read_text())
    steps = [step for phase in PHASES["decision"] for step in phase.steps]
    assert [entry["name"] for entry in document["steps"]] == [step.name for step in steps]
    for step, entry in zip(steps, document["steps"], strict=True):
        passed = "seen" if step.faithful_locally else "not shown here"
        assert entry["status"] in {passed, "does not apply"}, entry
    page = data.with_suffix(".md").read_text()
    assert "| figures | not shown here | not shown here: the AWS on this machine" in page
    assert local_server.find_server(project) is None
    assert (left_in(project), list((project / ".semif" / "local").glob("*.lock.json"))) == ([], [])
    wait_until_nothing_runs(project)


def test_a_verification_that_is_stopped_takes_everything_away(project: Path) -> None:
    command = [sys.executable, "-m", "semif", "verify", "demo", "--local", "--yes"]
    with subprocess.Popen(
        command, cwd=project, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True
    ) as running:

        def deploying() -> object:
            assert running.poll() is None
            return any("cdk" in line for line in processes_of(project))

        eventually(deploying)
        running.terminate()
        output, _ = running.communicate(timeout=120)
    assert running.returncode == 128 + signal.SIGTERM, output
    assert b"not run: deploy: it was stopped (SystemExit)" in output
    assert (left_in(project), local_server.find_server(project)) == ([], None)
    wait_until_nothing_runs(project)
