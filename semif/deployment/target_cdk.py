"""The CDK's commands for one target: in its project, with its credentials, within its time."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from semif.aws.clients import LOCAL_AWS_ENDED
from semif.deployment.cdk import CdkError, run_cdk
from semif.deployment.endpoint.template import OTHER_RESOURCES_SECONDS, Template, deploy_seconds
from semif.errors import SemifError
from semif.target import local_server
from semif.target.target import Target

OnLine = Callable[[str], None]
"""Gets each line that the CDK's CLI prints, as it comes."""

_LOCAL_SECONDS = 180.0
_AWS_SECONDS = float(OTHER_RESOURCES_SECONDS)
"""For all but deployments of endpoints."""
# `semif diff` is where changes are looked at before; a prompt here would stop every unattended run.
_UNATTENDED = ("--exclusively", "--require-approval", "never", "--progress", "events")


@dataclass(frozen=True)
class Assembly:
    """Synthesised stacks, in a folder."""

    folder: Path

    def template(self, stack: str) -> Template:
        """The template of one of them."""
        text = (self.folder / f"{stack}.template.json").read_text(encoding="utf-8")
        template: Template = json.loads(text)
        return template


@contextmanager
def synthesised(target: Target, stage: str, on_line: OnLine) -> Iterator[Assembly]:
    """The stacks that `stage` composes (`artifacts` or `all`), during the block. Raises as `run_for`."""
    with TemporaryDirectory(prefix="semif-cdk-") as folder:
        run_for(target, ["synth", "--quiet", *target.cdk_context(stage)], on_line, assembly=Path(folder))
        yield Assembly(Path(folder))


def deploy_stack(
    target: Target,
    assembly: Assembly,
    stack: str,
    on_line: OnLine,
    parameters: Mapping[str, str] | None = None,
) -> None:
    """Deploy `stack` of `assembly`, within the time that its template needs at most. Raises as `run_for`.

    `parameters` are the template's, those excepted that keep their value.
    """
    options = [*_UNATTENDED]
    for name, value in (parameters or {}).items():
        options += ["--parameters", f"{stack}:{name}={value}"]
    _run(
        target,
        ["deploy", stack, *options, "--app", str(assembly.folder)],
        on_line,
        aws_seconds=deploy_seconds(assembly.template(stack)),
    )


def synthesise_and_deploy(target: Target, stage: str, stack: str, on_line: OnLine) -> None:
    """Deploy `stack`, without an endpoint, of what `stage` composes. Raises as `run_for`.

    In one run of the CDK's CLI: nothing has to be seen in between, and its start takes a second.
    """
    run_for(target, ["deploy", stack, *_UNATTENDED, *target.cdk_context(stage)], on_line)


def run_for(
    target: Target,
    arguments: list[str],
    on_line: OnLine,
    folder: Path | None = None,
    assembly: Path | None = None,
) -> list[str]:
    """Run `cdk ARGUMENTS`, in another `folder` where no app is wanted, and return the lines that it printed.

    What it synthesises is put into `assembly`, else into a folder that goes with the run: commands at the
    same time would spoil one another's. Raises CdkError, and SemifError where the AWS on this machine has
    ended meanwhile.
    """
    with TemporaryDirectory(prefix="semif-cdk-") as own:
        return _run(target, [*arguments, "--output", str(assembly or own)], on_line, folder=folder)


def _run(
    target: Target,
    arguments: list[str],
    on_line: OnLine,
    *,
    aws_seconds: float = _AWS_SECONDS,
    folder: Path | None = None,
) -> list[str]:
    # Told so, the CDK's CLI reads that profile alone. AWS_PROFILE comes after keys in the environment there,
    # while boto3, which has looked at the account, leaves those out for a profile that is named (aws-cdk
    # 2.1148.1, AwsCliCompatible.credentialChainBuilder, and botocore's create_credential_resolver, read
    # 2026-12-01).
    profile = ["--profile", target.aws.profile] if target.aws.profile else []
    try:
        return run_cdk(
            target.root,
            [*arguments, *profile, "--no-notices", "--ci"],
            environment=target.aws.process_environment(),
            timeout_seconds=_LOCAL_SECONDS if target.local else aws_seconds,
            folder=folder,
            on_line=on_line,
        )
    except CdkError:
        if target.local and local_server.find_server(target.root) is None:
            raise SemifError(LOCAL_AWS_ENDED) from None
        raise
