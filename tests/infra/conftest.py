"""Every environment synthesised once, in this process, for all tests of the folder."""

import os
import runpy
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from semif.environment.environment import Environment
from semif.lock.lock_file import Lock

ROOT = Path(__file__).resolve().parents[2]
_SYNTH = runpy.run_path(str(Path(__file__).with_name("synth.py")))

# jsii looks for `node` on PATH when the first construct is made; pytest may be run without `make`.
os.environ["PATH"] = os.pathsep.join(
    [str(Path(sys.executable).parent), str(ROOT / "node_modules" / ".bin"), os.environ.get("PATH", "")]
)

Templates = dict[str, Any]
"""Name of a stack (`Artifacts`, `Endpoint`) to its template."""
Synth = Callable[[Environment, Lock | None], Templates]


@pytest.fixture(scope="session")
def synth(tmp_path_factory: pytest.TempPathFactory) -> Synth:
    """Synthesises an environment with a lock or none."""

    def run(environment: Environment, lock: Lock | None) -> Templates:
        found: dict[str, Templates] = _SYNTH["synthesise"](
            [(environment, lock)], outdir=tmp_path_factory.mktemp("cdk")
        )
        return found[environment.name]

    return run


@pytest.fixture(scope="session")
def templates(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Templates]:
    """Environment to its templates."""
    found: dict[str, Templates] = _SYNTH["synthesise"](
        _SYNTH["deployments"](), outdir=tmp_path_factory.mktemp("cdk")
    )
    return found


@pytest.fixture(scope="session")
def matrix(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Templates]:
    """Every serving path with every setting (matrix.py), each with a lock; name to templates."""
    folder = tmp_path_factory.mktemp("matrix")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SEMIF_PROJECT", str(_SYNTH["write_matrix"](folder / "project", ROOT)))
        found: dict[str, Templates] = _SYNTH["synthesise"](_SYNTH["deployments"](), outdir=folder / "cdk.out")
    return found
