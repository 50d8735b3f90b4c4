"""A copy of the checkout, and commands typed in it."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import tomli_w

from tests.support.machine.container_engine import path_without_container_engine
from tests.support.machine.waiting import eventually
from tests.support.models.small_models import pin_of

REPOSITORY = Path(__file__).parents[2]
LEFT_OUT = shutil.ignore_patterns(
    ".*", "node_modules", "cdk.out", "__pycache__", "tests", "docs", "bench", "*.egg-info"
)


def copy_project(folder: Path) -> Path:
    """A project like the checkout, whose demo runs its engine on one thread.

    Those of more threads spin for each other, which takes the time of whatever else runs.
    """
    project = folder / "project"
    shutil.copytree(REPOSITORY, project, ignore=LEFT_OUT)
    (project / "node_modules").symlink_to(REPOSITORY / "node_modules")
    demo = project / "environments" / "demo.toml"
    text = demo.read_text()
    assert "\n[adapter]\n" in text
    demo.write_text(text.replace("\n[adapter]\n", "\n[adapter]\nthreads = 1\n"))
    return project


def pin_model(project: Path, preset: str, gguf: Path) -> None:
    """Let `preset` of `project` be of the file `gguf`; how it is asked stays."""
    file = project / "models" / f"{preset}.toml"
    tables = tomllib.loads(file.read_text())
    tables["model"] = pin_of(gguf).model_dump(exclude_none=True)
    file.write_text(tomli_w.dumps(tables))


def build_with_installed_packages(project: Path) -> None:
    """Let the model's build of `project` see what is installed here, in place of installing its own.

    That takes seven CPU seconds; tests/image builds as CodeBuild does.
    """
    file = project / "buildspec.model.yml"
    see = """python3 -c 'import sysconfig; print(sysconfig.get_path("purelib"))' \\
          >"$(echo .venv/lib/python3*/site-packages)/installed.pth\""""
    text, installs = re.subn(r"python3 -m pip .*\\\n.*", lambda _: see, file.read_text())
    assert installs == 1
    file.write_text(text)


def build_little(project: Path, patch: pytest.MonkeyPatch) -> None:
    """Let builds of `project` install nothing, and make no image, as long as `patch` holds."""
    build_with_installed_packages(project)
    patch.setenv("PATH", path_without_container_engine(project.parent))


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
