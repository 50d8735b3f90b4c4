"""Running the CDK CLI: how it is found, how its failure is told, how it ends."""

import os
import sys
from pathlib import Path

import pytest

from semif.cdk import CdkError, run_cdk


def project_with_cli(root: Path, script: str) -> Path:
    """A project whose CDK CLI is this shell script."""
    path = root / "node_modules" / ".bin" / "cdk"
    path.parent.mkdir(parents=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return root


def run(root: Path, *arguments: str, timeout_seconds: float = 20.0) -> list[str]:
    return run_cdk(root, arguments, environment=os.environ, timeout_seconds=timeout_seconds)


def test_not_installed(tmp_path: Path) -> None:
    with pytest.raises(CdkError, match=r"not installed .* run `make setup`"):
        run(tmp_path, "deploy")


def test_the_projects_own_python_and_node_come_first(tmp_path: Path) -> None:
    root = project_with_cli(tmp_path, 'echo "$PATH"; pwd; echo "$*"')
    path, folder, arguments = run(root, "deploy", "A", "-c", "env=demo")
    own = [str(Path(sys.executable).parent), str(root / "node_modules" / ".bin")]
    assert path.split(os.pathsep)[:2] == own
    assert folder == str(root)
    assert arguments == "deploy A -c env=demo"


def test_a_failure_shows_the_end_of_the_output(tmp_path: Path) -> None:
    root = project_with_cli(tmp_path, "seq 1 100; echo broken >&2; exit 3")
    seen: list[str] = []
    with pytest.raises(CdkError) as caught:
        run_cdk(root, ["deploy", "A"], environment=os.environ, timeout_seconds=20, on_line=seen.append)
    lines = str(caught.value).splitlines()
    assert lines[0] == "cdk deploy A failed with status 3"
    assert lines[-1] == "  broken"
    assert "  1" not in lines
    assert len(seen) == 101


def test_what_runs_too_long_is_ended_with_its_children(tmp_path: Path) -> None:
    # The child holds a FIFO open for writing: reading it ends when the child has.
    fifo = tmp_path / "alive"
    os.mkfifo(fifo)
    root = project_with_cli(tmp_path, f"sleep 600 > {fifo} & wait")
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    with pytest.raises(CdkError, match=r"cdk deploy A did not end within 0\.3 s"):
        run(root, "deploy", "A", timeout_seconds=0.3)
    os.set_blocking(reader, True)
    assert os.read(reader, 1) == b""
    os.close(reader)
