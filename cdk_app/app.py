"""The CDK app: `cdk synth -c env=NAME [-c stage=artifacts|all] [-c lock=PATH] [-c account=NUMBER]`.

Synthesis reads files of this project only; it needs neither credentials nor a network.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Literal, get_args

from aws_cdk import App, Validations
from cdk_nag import AwsSolutionsChecks

from cdk_app.stacks.artifacts import ArtifactsStack
from cdk_app.stacks.async_endpoint import AsyncEndpointStack
from cdk_app.stacks.batch import BatchStack
from cdk_app.stacks.endpoint import EndpointStack
from cdk_app.stacks.model_stack import ModelStack
from semif.environment.environment import Environment, environment_names, load_environment
from semif.errors import SemifError
from semif.lock.check import check_lock
from semif.lock.lock_file import Lock, lock_path, read_lock

Stage = Literal["artifacts", "all"]

ENDPOINT_STACKS: dict[str, Callable[..., ModelStack]] = {
    "realtime": EndpointStack,
    "async": AsyncEndpointStack,
    "batch": BatchStack,
}
"""What `Semif-NAME-Endpoint` is in each mode; each takes the scope, `environment` and `lock`."""

Deployment = tuple[Environment, Lock | None]
"""An environment with its lock, or with none before its first builds."""


def build(*deployments: Deployment, app: App) -> None:
    """Compose the stacks of each environment: artifacts alone without a lock, the endpoint too with one.

    An environment whose container downloads its model builds nothing, and has no artifacts.

    A lock must have been checked against its environment. Raises SemifError for what cannot be deployed.
    """
    Validations.of(app).add_plugins(AwsSolutionsChecks(app))
    for environment, lock in deployments:
        extended = environment.base_image if environment.serving_kind.runs_adapter else None
        if environment.preset is not None:
            ArtifactsStack(app, base_image=extended, environment=environment)
        if lock is not None:
            ENDPOINT_STACKS[environment.endpoint.mode](app, environment=environment, lock=lock)


def compose(app: App) -> None:
    """Compose what the contexts `env`, `stage` and `lock` ask for. Raises SemifError for what cannot be.

    With the context `account` all of it is for that account, which the CDK then holds the credentials
    against; without, and where neither file nor lock names one, it is for that of the credentials.
    """
    environment, lock = _inputs(app)
    account = app.node.try_get_context("account")
    if account is not None:
        environment = environment.model_copy(update={"account": environment.account or str(account)})
    build((environment, lock), app=app)


def main() -> None:
    """Compose and synthesise. A problem ends the process with one message and no traceback."""
    app = App(analytics_reporting=False)
    try:
        compose(app)
    except SemifError as error:
        sys.exit(f"semif: {error}")
    app.synth()


def _inputs(app: App) -> Deployment:
    name = app.node.try_get_context("env")
    if not isinstance(name, str):
        raise SemifError(
            f"the context env is missing; add -c env=NAME, known are {', '.join(environment_names())}"
        )
    stage = app.node.try_get_context("stage") or "all"
    if stage not in get_args(Stage):
        raise SemifError(f"the context stage is {stage!r}, allowed are {', '.join(get_args(Stage))}")
    if stage == "artifacts":
        environment = load_environment(name)
        if environment.preset is None:
            raise SemifError(f"{name} builds nothing, so it has no artifacts; leave -c stage=artifacts out")
        return environment, None
    return read_deployment(name, Path(app.node.try_get_context("lock") or lock_path(name)))


def read_deployment(name: str, path: Path) -> Deployment:
    """The environment `name` and the lock at `path`, checked against it. Raises SemifError for a problem."""
    environment = load_environment(name)
    lock = read_lock(path)
    check_lock(lock, environment, source=path, bases=True)
    return environment, lock


if __name__ == "__main__":
    main()
