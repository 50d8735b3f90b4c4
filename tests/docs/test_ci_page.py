"""The workflow that docs/ci.md offers: what it calls is there, and its steps do what the page says."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from click import Group

from semif.cli import COMMANDS, main
from semif.deployment.endpoint.template import deploy_seconds
from semif.environment.environment import load_environment
from semif.sagemaker.update_strategies import execution_seconds

HOUR = 3600
MAX_SESSION = 12 * HOUR
"""Of an IAM role: "Maximum session duration" takes one to twelve hours (IAM user guide, read 2026-11-30)."""
JOB_LIMIT_MINUTES = 360
"""Of a job on GitHub's own runners ("Actions limits", GitHub's documentation, read 2026-11-30)."""


@pytest.fixture
def jobs(root: Path) -> dict[str, Any]:
    (text,) = re.findall(r"```yaml\n(.*?)```", (root / "docs" / "ci.md").read_text(), re.DOTALL)
    found: dict[str, Any] = yaml.safe_load(text)["jobs"]
    return found


def runs_of(job: dict[str, Any]) -> list[str]:
    return [step["run"] for step in job["steps"] if "run" in step]


def test_every_command_and_target_of_the_workflow_is_there(jobs: dict[str, Any], root: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (root / "Makefile").read_text(), re.MULTILINE))
    called = set()
    for line in (line for job in jobs.values() for line in runs_of(job)):
        first, *words = line.split()
        if first == "make":
            assert set(words) <= targets
        elif first == ".venv/bin/semif":
            assert words[0] in COMMANDS
            command = main.get_command(None, words[0])  # type: ignore[arg-type]  # the context is not looked at
            if isinstance(command, Group):
                command = command.commands[words[1]]
            assert command is not None
            known = {option for parameter in command.params for option in parameter.opts}
            assert {word for word in words if word.startswith("--")} <= known
            called.add(words[0])
        else:
            assert first == "git"
    assert called == {"env", "diff", "deploy"}


def test_only_jobs_that_reach_aws_get_a_token(jobs: dict[str, Any]) -> None:
    tokens = {name for name, job in jobs.items() if "id-token" in job.get("permissions", {})}
    roles = {name for name, job in jobs.items() if "role-to-assume" in str(job)}
    assert tokens == roles == {"diff", "deploy"}
    assert "pull_request" in jobs["diff"]["if"]
    assert "fork" not in str(jobs)
    assert "head.repo.full_name == github.repository" in jobs["diff"]["if"]
    assert jobs["deploy"]["if"] == "github.event_name == 'push'"


def test_the_credentials_last_as_long_as_the_job(jobs: dict[str, Any]) -> None:
    """An hour is what they last where nothing is said; prod's update with its builds may take longer."""
    job = jobs["deploy"]
    (credentials,) = [step["with"] for step in job["steps"] if "role-to-assume" in str(step)]
    seconds, minutes = credentials["role-duration-seconds"], job["timeout-minutes"]
    assert minutes <= JOB_LIMIT_MINUTES
    assert minutes * 60 <= seconds <= MAX_SESSION
    prod = load_environment("prod")
    assert prod.deployment is not None
    update = execution_seconds(
        prod.deployment.strategy,
        prod.min_instance_count,
        longest_start_seconds=prod.longest_start_seconds,
        wait_seconds=prod.deployment.wait_seconds,
    )
    assert HOUR + 2 * update <= seconds, "an hour of builds, the update, and its way back"
    assert deploy_seconds({}) <= seconds


@pytest.fixture
def checkout(tmp_path: Path, root: Path) -> Path:
    """A repository of a project whose prod was never deployed, as a runner checks it out."""
    shutil.copytree(root / "environments", tmp_path / "environments")
    shutil.copy(root / ".gitignore", tmp_path)
    (tmp_path / ".venv").symlink_to(root / ".venv")
    for arguments in (["init", "--quiet"], ["add", "."], ["commit", "--quiet", "--message", "one"]):
        git(tmp_path, *arguments)
    return tmp_path


def git(folder: Path, *arguments: str) -> None:
    who = {f"GIT_{role}_{key}": "ci" for role in ("AUTHOR", "COMMITTER") for key in ("NAME", "EMAIL")}
    nowhere = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    subprocess.run(["git", *arguments], cwd=folder, env=os.environ | who | nowhere, check=True, timeout=30)


def step_status(line: str, folder: Path) -> int:
    """What a step ends with, run as GitHub runs it: `bash -e`, in the checkout."""
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", line],
        cwd=folder,
        check=False,
        capture_output=True,
        timeout=60,
    )
    return done.returncode


def test_the_last_step_sees_a_lock_that_a_build_wrote(
    jobs: dict[str, Any], checkout: Path, root: Path
) -> None:
    *_, last = runs_of(jobs["deploy"])
    assert step_status(last, checkout) == 0
    (checkout / "environments" / "prod.previous.lock.json").write_text("{}")
    assert step_status(last, checkout) == 0, "that file is the checkout's own"

    lock = checkout / "environments" / "prod.lock.json"
    shutil.copy(root / "tests" / "infra" / "locks" / "prod.json", lock)
    assert step_status(last, checkout) == 1, "the first lock, which nobody has committed yet"
    git(checkout, "add", ".")
    git(checkout, "commit", "--quiet", "--message", "two")
    assert step_status(last, checkout) == 0
    lock.write_text(json.dumps(json.loads(lock.read_text()) | {"account": "444455556666"}))
    assert step_status(last, checkout) == 1


def test_the_checks_of_a_pull_request_run_in_a_fresh_checkout(jobs: dict[str, Any], root: Path) -> None:
    check = [line for line in runs_of(jobs["check"]) if line.startswith(".venv/bin/semif")]
    assert [step_status(line, root) for line in check] == [0]
