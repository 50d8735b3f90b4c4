"""Every environment synthesised once, in this process, for all tests of the folder."""

import json
import os
import runpy
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from aws_cdk import App, Stack
from aws_cdk.assertions import Template

from cdk_app.app import Deployment, build
from semif.environment import Environment, environment_names, load_environment, read_environment
from semif.lock import Lock

ROOT = Path(__file__).resolve().parents[2]
_EXAMPLES = runpy.run_path(str(Path(__file__).with_name("example_locks.py")))
_MATRIX = runpy.run_path(str(Path(__file__).with_name("matrix.py")))

# jsii looks for `node` on PATH when the first construct is made; pytest may be run without `make`.
os.environ["PATH"] = os.pathsep.join(
    [str(Path(sys.executable).parent), str(ROOT / "node_modules" / ".bin"), os.environ.get("PATH", "")]
)

Templates = dict[str, Any]
"""Name of a stack (`Artifacts`, `Endpoint`) to its template."""
Synth = Callable[[Environment, Lock | None], Templates]


@pytest.fixture(scope="session")
def root() -> Path:
    return ROOT


@pytest.fixture(scope="session")
def example_lock() -> Callable[[Environment], Lock]:
    return _EXAMPLES["example_lock"]


@pytest.fixture(scope="session")
def synth(tmp_path_factory: pytest.TempPathFactory) -> Synth:
    """Synthesises an environment with a lock or none."""

    def run(environment: Environment, lock: Lock | None) -> Templates:
        return synthesise((environment, lock), outdir=tmp_path_factory.mktemp("cdk"))[environment.name]

    return run


def synthesise(*deployments: Deployment, outdir: Path) -> dict[str, Templates]:
    """The templates of environments, all in one app: name to templates."""
    flags = json.loads((ROOT / "cdk.json").read_text())["context"]
    app = App(analytics_reporting=False, context=flags, outdir=str(outdir))
    build(*deployments, app=app)
    app.synth()  # raises where cdk-nag or the CDK's own checks find anything
    found: dict[str, Templates] = {environment.name: {} for environment, _ in deployments}
    for stack in app.node.children:
        if isinstance(stack, Stack):
            name, kind = stack.stack_name.removeprefix("Semif-").rsplit("-", 1)
            found[name][kind] = Template.from_stack(stack).to_json()
    return found


@pytest.fixture(scope="session")
def templates(
    tmp_path_factory: pytest.TempPathFactory, example_lock: Callable[[Environment], Lock]
) -> dict[str, Templates]:
    """Environment to its templates."""
    environments = map(load_environment, environment_names())
    deployments = [(environment, example_lock(environment)) for environment in environments]
    return synthesise(*deployments, outdir=tmp_path_factory.mktemp("cdk"))


@pytest.fixture(scope="session")
def matrix(
    tmp_path_factory: pytest.TempPathFactory, example_lock: Callable[[Environment], Lock]
) -> dict[str, Templates]:
    """Every serving path with every setting (matrix.py), each with a lock; name to templates."""
    project = tmp_path_factory.mktemp("matrix")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SEMIF_PROJECT", str(_MATRIX["write_project"](project, ROOT)))
        environments = map(load_environment, environment_names())
        deployments = [(environment, example_lock(environment)) for environment in environments]
        return synthesise(*deployments, outdir=project / "cdk.out")


@pytest.fixture
def environment_of(tmp_path: Path) -> Callable[..., Environment]:
    """An environment from the text of a file."""

    def read(text: str, name: str = "test") -> Environment:
        path = tmp_path / f"{name}.toml"
        path.write_text(text)
        return read_environment(path)

    return read
