"""A stop while a process is started, before anybody holds its handle, ends that process too."""

import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from semif.environment.environment import load_environment
from semif.project.root import PROJECT_VARIABLE
from semif.target.local_server import ensure_server
from semif.verify.steps.reference import local_adapter
from tests.support.models.small_models import pin_of

ENVIRONMENT = """\
kind = "decision"
removal = "destroy"
[model]
preset = "small"
[endpoint]
instance_type = "ml.c6i.large"
"""
Begin = Callable[[Path], object]


@pytest.fixture
def project(tmp_path: Path, sound_gguf: Path, monkeypatch: pytest.MonkeyPatch, own_cache: Path) -> Path:
    pin, folder = pin_of(sound_gguf), tmp_path / "project"
    for name in ("models", "environments"):
        (folder / name).mkdir(parents=True)
    (folder / "models" / "small.toml").write_text(
        'description = "small"\nlicense = "Apache-2.0"\nquantization = "F32"\n'
        f'[model]\nsource = "file:{sound_gguf}"\nfile = "{pin.file}"\nbytes = {pin.bytes}\n'
        f'sha256 = "{pin.sha256}"\n[prompt]\nreadout = "text"\ntemplate = "plain"\n'
    )
    (folder / "environments" / "small.toml").write_text(ENVIRONMENT)
    monkeypatch.setenv(PROJECT_VARIABLE, str(folder))
    return folder


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> Iterator[list["subprocess.Popen[Any]"]]:
    """What was started, of which each start is met by a stop; it raises, as `semif verify` has it do."""
    processes: list[subprocess.Popen[Any]] = []

    class Stopped(subprocess.Popen[Any]):
        def __init__(self, *arguments: Any, **others: Any) -> None:
            super().__init__(*arguments, **others)
            processes.append(self)
            signal.raise_signal(signal.SIGTERM)

    def stop(number: int, _: object) -> None:
        raise SystemExit(128 + number)

    before = signal.signal(signal.SIGTERM, stop)
    monkeypatch.setattr(subprocess, "Popen", Stopped)
    yield processes
    assert signal.signal(signal.SIGTERM, before) is stop
    for process in processes:
        process.kill()


def reference(_: Path) -> None:
    with local_adapter(load_environment("small")):
        raise AssertionError("it went on")


def local_aws(root: Path) -> None:
    ensure_server(root, region="us-east-1")


@pytest.mark.parametrize("begin", [reference, local_aws])
def test_a_stop_while_it_starts_ends_it(
    project: Path, started: list["subprocess.Popen[Any]"], begin: Begin
) -> None:
    with pytest.raises(SystemExit):
        begin(project)
    (process,) = started
    assert process.returncode is not None  # ended, and waited for
