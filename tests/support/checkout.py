"""A copy of the checkout, and commands typed in it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.support.machine.waiting import eventually

REPOSITORY = Path(__file__).parents[2]
LEFT_OUT = shutil.ignore_patterns(
    ".*", "node_modules", "cdk.out", "__pycache__", "tests", "docs", "bench", "*.egg-info"
)


def copy_project(folder: Path) -> Path:
    project = folder / "project"
    shutil.copytree(REPOSITORY, project, ignore=LEFT_OUT)
    (project / "node_modules").symlink_to(REPOSITORY / "node_modules")
    return project


def semif(
    project: Path, *arguments: str, text: str | None = None, seconds: float = 400
) -> subprocess.CompletedProcess[str]:
    """A command as a user types it in the project; an AWS profile of theirs must not matter."""
    return subprocess.run(
        [sys.executable, "-m", "semif", *arguments],
        cwd=project,
        # Without the CDK's own look at the templates, which takes two CPU seconds of every synthesis:
        # tests/infra has it look at those of all environments.
        env={
            **os.environ,
            "AWS_PROFILE": "nobody-has-this",
            "PYTHONPATH": str(project),
            "CDK_VALIDATION": "false",
        },
        input=text,
        capture_output=True,
        text=True,
        check=False,
        timeout=seconds,
    )


def processes_of(project: Path) -> list[str]:
    """Command lines of the processes that work in the project's folder, as Linux tells them."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            works_in = str((process / "cwd").readlink())
            command = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:  # ended meanwhile, or another user's
            continue
        if works_in.startswith(str(project)) or str(project) in command:
            found.append(command)
    return found


def wait_until_nothing_runs(project: Path) -> None:
    """Return when the last process of the project has ended: a stopped server's still takes a moment."""
    eventually(lambda: processes_of(project), lambda left: not left, seconds=30)
