"""Running the CDK CLI: how it is found, how its failure is told, how it ends."""

import os
import signal
import sys
from pathlib import Path

import pytest

from semif.aws.clients import Aws
from semif.deployment.cdk import CdkError, run_cdk
from semif.deployment.stages import deploy_artifacts
from semif.environment.environment import load_environment
from semif.errors import SemifError
from semif.target.target import Target


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
    root = project_with_cli(tmp_path, "seq 1 100; echo broken >&2; echo '    at run (cli.js:1:2)'; exit 3")
    seen: list[str] = []
    with pytest.raises(CdkError) as caught:
        run_cdk(root, ["deploy", "A"], environment=os.environ, timeout_seconds=20, on_line=seen.append)
    lines = str(caught.value).splitlines()
    assert lines[0] == "cdk deploy A failed with status 3"
    assert lines[-1] == "  broken"
    assert "  1" not in lines
    assert len(seen) == 102


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


def test_a_stop_while_it_starts_ends_it(tmp_path: Path) -> None:
    fifo = tmp_path / "alive"
    os.mkfifo(fifo)
    # The first thing that the CLI does is to stop who started it, which may still be at that.
    root = project_with_cli(tmp_path, f"exec 3> {fifo}; kill -TERM $PPID; sleep 600 & wait")
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)

    def stop(number: int, _: object) -> None:
        raise SystemExit(128 + number)

    before = signal.signal(signal.SIGTERM, stop)
    try:
        with pytest.raises(SystemExit):
            run(root, "deploy", "A")
    finally:
        signal.signal(signal.SIGTERM, before)
    os.set_blocking(reader, True)
    assert os.read(reader, 1) == b""
    os.close(reader)


def demo_target(root: Path, *, local: bool) -> Target:
    aws = Aws(region="us-east-1", endpoint_url="http://127.0.0.1:9")
    lock = root / "demo.lock.json"
    return Target(root, load_environment("demo"), aws, "000000000000", lock, local=local, poll_seconds=0)


def test_runs_at_the_same_time_write_to_different_folders(tmp_path: Path) -> None:
    project_with_cli(tmp_path, 'while [ "$1" != --output ]; do shift; done; echo "$2"; test -d "$2"')
    folders: list[str] = []
    for _ in range(2):
        deploy_artifacts(demo_target(tmp_path, local=False), folders.append)
    assert len(set(folders)) == 2
    assert not any(Path(folder).exists() for folder in folders)


def test_a_failure_because_the_aws_on_this_machine_is_gone_says_so(tmp_path: Path) -> None:
    project_with_cli(tmp_path, "echo connect ECONNREFUSED; exit 1")
    with pytest.raises(SemifError, match=r"^the AWS on this machine has ended, .* again$"):
        deploy_artifacts(demo_target(tmp_path, local=True), lambda _: None)
    with pytest.raises(CdkError, match="ECONNREFUSED"):
        deploy_artifacts(demo_target(tmp_path, local=False), lambda _: None)
