"""The CDK's commands for one target: in its project, with its credentials, within its time."""

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from semif.aws.clients import LOCAL_AWS_ENDED
from semif.deployment.cdk import CdkError, run_cdk
from semif.errors import SemifError
from semif.target import local_server
from semif.target.target import Target

OnLine = Callable[[str], None]
"""Gets each line that the CDK's CLI prints, as it comes."""

_LOCAL_SECONDS = 180.0
_AWS_SECONDS = 2 * 3600.0


def deploy_stack(target: Target, stack: str, stage: str, on_line: OnLine) -> None:
    """Deploy `stack`, which `stage` composes (`artifacts` or `all`). Raises as `run_for`."""
    # `semif diff` is where changes are looked at before; a prompt here would stop every unattended run.
    options = ["--exclusively", "--require-approval", "never", "--progress", "events"]
    run_for(target, ["deploy", stack, *options, *target.cdk_context(stage)], on_line)


def run_for(target: Target, arguments: list[str], on_line: OnLine, folder: Path | None = None) -> list[str]:
    """Run `cdk ARGUMENTS`, in another `folder` where no app is wanted, and return the lines that it printed.

    Raises CdkError, and SemifError where the AWS on this machine has ended meanwhile.
    """
    # An assembly of its own for each run: commands at the same time would spoil one another's.
    with TemporaryDirectory(prefix="semif-cdk-") as assembly:
        try:
            return run_cdk(
                target.root,
                [*arguments, "--output", assembly, "--no-notices", "--ci"],
                environment=target.aws.process_environment(),
                timeout_seconds=_LOCAL_SECONDS if target.local else _AWS_SECONDS,
                folder=folder,
                on_line=on_line,
            )
        except CdkError:
            if target.local and local_server.find_server(target.root) is None:
                raise SemifError(LOCAL_AWS_ENDED) from None
            raise
