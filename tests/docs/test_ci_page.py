"""The workflow that docs/ci.md offers: what it calls is there."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from click import Group

from semif.cli import COMMANDS, main


@pytest.fixture
def jobs(root: Path) -> dict[str, Any]:
    (text,) = re.findall(r"```yaml\n(.*?)```", (root / "docs" / "ci.md").read_text(), re.DOTALL)
    found: dict[str, Any] = yaml.safe_load(text)["jobs"]
    return found


def test_every_command_and_target_of_the_workflow_is_there(jobs: dict[str, Any], root: Path) -> None:
    lines = [step["run"] for job in jobs.values() for step in job["steps"] if "run" in step]
    targets = set(re.findall(r"^([a-z-]+):", (root / "Makefile").read_text(), re.MULTILINE))
    called = set()
    for line in lines:
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
