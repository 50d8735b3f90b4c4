"""`python -m tests.infra.synth`: synthesise every environment, and every case of matrix.py, in one app each.

It needs no account, no network and no lock but the examples. A problem ends it with a message and status 1.
"""

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from aws_cdk import App, Stack
from aws_cdk.assertions import Template

from cdk_app.app import Deployment, build
from semif.environment.environment import environment_names, load_environment
from semif.errors import SemifError
from tests.infra.account_cases import write_all
from tests.infra.example_locks import example_lock

ROOT = Path(__file__).resolve().parents[2]


def deployments() -> list[Deployment]:
    """Every environment of the project, with its example lock."""
    environments = map(load_environment, environment_names())
    return [(environment, example_lock(environment)) for environment in environments]


def synthesise(found: Sequence[Deployment], *, outdir: Path) -> dict[str, dict[str, Any]]:
    """The templates, all of one app: environment to `Artifacts` and `Endpoint`."""
    flags = json.loads((ROOT / "cdk.json").read_text())["context"]
    app = App(analytics_reporting=False, context=flags, outdir=str(outdir))
    build(*found, app=app)
    app.synth()  # raises where cdk-nag or the CDK's own checks find anything
    templates: dict[str, dict[str, Any]] = {environment.name: {} for environment, _ in found}
    for stack in app.node.children:
        if isinstance(stack, Stack):
            name, kind = stack.stack_name.removeprefix("Semif-").rsplit("-", 1)
            templates[name][kind] = Template.from_stack(stack).to_json()
    return templates


def main() -> None:
    """Synthesise all, and say so."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        try:
            for said, project in (("", ROOT), ("matrix ", write_all(folder / "matrix", ROOT))):
                os.environ["SEMIF_PROJECT"] = str(project)
                found = deployments()
                synthesise(found, outdir=folder / f"out-{project.name}")
                for environment, _ in found:
                    print(f"synth: {said}{environment.name} ok")
        except (SemifError, RuntimeError) as error:  # jsii raises the latter for what cdk-nag finds
            sys.exit(f"synth: {error}")


if __name__ == "__main__":
    main()
