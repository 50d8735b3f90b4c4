"""`semif demo` that does not come to its end: it tells why, and leaves nothing."""

import signal
import subprocess
import sys
from pathlib import Path

from semif.target import local_server
from tests.support.checkout import copy_project, processes_of, semif, wait_until_nothing_runs
from tests.support.machine.waiting import eventually


def test_a_demo_whose_build_fails_says_why_and_leaves_nothing(tmp_path: Path) -> None:
    project = copy_project(tmp_path)
    buildspec = project / "buildspec.model.yml"
    first_command = "        python3 -m venv --without-pip .venv\n"
    assert first_command in buildspec.read_text()
    broken = buildspec.read_text().replace(first_command, "        echo the disk is full\n        exit 7\n")
    buildspec.write_text(broken)
    image = project / "buildspec.yml"  # the builds run side by side: neither shall keep the other waiting
    image.write_text(image.read_text().replace("        set -eu\n", "        exit 7\n", 1))
    failed = semif(project, "demo")
    assert failed.returncode == 1
    assert "demo: ok" not in failed.stdout
    assert "the model build ended FAILED in phase INSTALL" in failed.stderr
    assert "  the disk is full\n" in failed.stderr
    assert "Traceback" not in failed.stderr
    assert local_server.find_server(project) is None
    assert not local_server.lock_path(project, "demo").exists()
    assert processes_of(project) == []


def test_a_demo_that_is_stopped_leaves_nothing(tmp_path: Path) -> None:
    project = copy_project(tmp_path)
    with subprocess.Popen(
        [sys.executable, "-m", "semif", "demo"], cwd=project, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as demo:

        def server() -> object:
            assert demo.poll() is None
            return local_server.find_server(project)

        eventually(server)
        demo.terminate()
        output, _ = demo.communicate(timeout=60)
    assert demo.returncode == 128 + signal.SIGTERM
    assert b"demo: ok" not in output
    assert local_server.find_server(project) is None
    wait_until_nothing_runs(project)
