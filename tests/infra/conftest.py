"""Every environment synthesised once, in this process, for all tests of the folder."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from aws_cdk import App, Stack

from semif.environment.environment import Environment
from semif.lock.lock_file import Lock
from tests.infra.account_cases import write_all
from tests.infra.synth import ROOT, deployments, synthesise

Templates = dict[str, Any]
"""Name of a stack (`Artifacts`, `Endpoint`) to its template."""
Synth = Callable[[Environment, Lock | None], Templates]


@pytest.fixture
def stack(tmp_path: Path) -> Stack:
    """An empty stack in an app of its own."""
    return Stack(App(analytics_reporting=False, outdir=str(tmp_path / "cdk.out")), "Test")


@pytest.fixture(scope="session")
def synth(tmp_path_factory: pytest.TempPathFactory) -> Synth:
    """Synthesises an environment with a lock or none."""

    def run(environment: Environment, lock: Lock | None) -> Templates:
        return synthesise([(environment, lock)], outdir=tmp_path_factory.mktemp("cdk"))[environment.name]

    return run


@pytest.fixture(scope="session")
def templates(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Templates]:
    """Environment to its templates."""
    return synthesise(deployments(), outdir=tmp_path_factory.mktemp("cdk"))


@pytest.fixture(scope="session")
def matrix(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Templates]:
    """Every serving path with every setting (matrix.py), each with a lock; name to templates."""
    folder = tmp_path_factory.mktemp("matrix")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SEMIF_PROJECT", str(write_all(folder / "project", ROOT)))
        return synthesise(deployments(), outdir=folder / "cdk.out")
