"""Every environment synthesised once, in this process, for all tests of the folder."""

import os
import runpy
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from aws_cdk import App
from aws_cdk.assertions import Template

from cdk_app.app import build
from semif.environment import Environment, environment_names, load_environment, read_environment
from semif.lock import Lock

ROOT = Path(__file__).resolve().parents[2]
_EXAMPLES = runpy.run_path(str(Path(__file__).with_name("example_locks.py")))

# jsii looks for `node` on PATH when the first construct is made; pytest may be run without `make`.
os.environ["PATH"] = os.pathsep.join(
    [str(Path(sys.executable).parent), str(ROOT / "node_modules" / ".bin"), os.environ.get("PATH", "")]
)

Templates = dict[str, Any]
"""Name of a stack (`Artifacts`, `Endpoint`) to its template."""


@pytest.fixture(scope="session")
def root() -> Path:
    return ROOT


@pytest.fixture(scope="session")
def example_lock() -> Callable[[Environment], Lock]:
    return _EXAMPLES["example_lock"]


def synthesise(environment: Environment, lock: Lock | None) -> Templates:
    app = build(environment, lock, app=App(analytics_reporting=False))
    return {
        stack.stack_name.rpartition("-")[2]: Template.from_stack(stack).to_json()
        for stack in app.node.children
        if hasattr(stack, "stack_name")
    }


@pytest.fixture(scope="session")
def synth() -> Callable[[Environment, Lock | None], Templates]:
    return synthesise


@pytest.fixture(scope="session")
def templates(example_lock: Callable[[Environment], Lock]) -> dict[str, Templates]:
    """Environment to its templates."""
    return {
        name: synthesise(load_environment(name), example_lock(load_environment(name)))
        for name in environment_names()
    }


@pytest.fixture
def environment_of(tmp_path: Path) -> Callable[..., Environment]:
    """An environment from the text of a file."""

    def read(text: str, name: str = "test") -> Environment:
        path = tmp_path / f"{name}.toml"
        path.write_text(text)
        return read_environment(path)

    return read
