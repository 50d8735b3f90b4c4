"""The CDK command line that package.json pins, run from the project's folder; no CDK is imported here."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from semif.errors import SemifError
from semif.signals import signals_put_off

SHOWN_LINES = 20
"""How much of a failed run's output goes into the error."""

_GRACE_SECONDS = 10.0


class CdkError(SemifError):
    """The CDK CLI failed; the message's first line says at what, the rest is the end of its output."""


def run_cdk(
    root: Path,
    arguments: Sequence[str],
    *,
    environment: Mapping[str, str],
    timeout_seconds: float,
    folder: Path | None = None,
    on_line: Callable[[str], None] = lambda _: None,
) -> list[str]:
    """Run the project's `cdk ARGUMENTS` and return the lines it printed; `on_line` sees each as it comes.

    It runs in `root`, where cdk.json names the app, or in another `folder` where no app is wanted.
    `environment` is the whole environment of the run, to which PATH is set right. Raises CdkError when the
    CLI is not installed, fails, or runs longer than `timeout_seconds`; then, and on an interrupt, it and its
    children are ended first.
    """
    timed_out = threading.Event()

    def expire() -> None:
        timed_out.set()
        _end(process)

    lines: list[str] = []
    with signals_put_off() as let_signals_come:
        process = subprocess.Popen(
            [str(_executable(root)), *arguments],
            cwd=folder or root,
            env=_environment(root, environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        timer = threading.Timer(timeout_seconds, expire)
        timer.daemon = True
        timer.start()
        try:
            assert process.stdout is not None
            with process.stdout:
                let_signals_come()
                for line in process.stdout:
                    lines.append(line.rstrip())
                    on_line(lines[-1])
            status = process.wait()
        except BaseException:
            _end(process)
            raise
        finally:
            timer.cancel()
    command = "cdk " + " ".join(arguments[:2])
    if timed_out.is_set():
        raise CdkError(_failure(f"{command} did not end within {timeout_seconds:g} s", lines))
    if status != 0:
        raise CdkError(_failure(f"{command} failed with status {status}", lines))
    return lines


def _executable(root: Path) -> Path:
    path = root / "node_modules" / ".bin" / "cdk"
    if not path.exists():
        raise CdkError(
            f"the CDK CLI is not installed ({path} is missing); run `make setup` in a clone of Semif, "
            "`npm ci` in a project of `semif init`"
        )
    return path


def _environment(root: Path, variables: Mapping[str, str]) -> dict[str, str]:
    # The app that cdk.json names runs on `python` from PATH, and jsii on `node`: both must be this project's.
    folders = [
        str(Path(sys.executable).parent),
        str(root / "node_modules" / ".bin"),
        os.environ.get("PATH", ""),
    ]
    return {
        **variables,
        "PATH": os.pathsep.join(folders),
        "CDK_DISABLE_STACK_TRACE": "1",
        "CDK_DISABLE_CLI_TELEMETRY": "1",
        "JSII_SILENCE_WARNING_UNTESTED_NODE_VERSION": "1",
    }


def _end(process: subprocess.Popen[str]) -> None:
    """End the CLI and the app it started, which share a process group: politely, then for good."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        # The group may be gone already; macOS answers EPERM for one of zombies.
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, number)
        with suppress(subprocess.TimeoutExpired):
            process.wait(_GRACE_SECONDS)


def _failure(what: str, lines: Sequence[str]) -> str:
    # The CLI's own stack trace ("    at Module.run (file.js:1:2)") says nothing about the project.
    end = [line for line in lines if line.strip() and not line.lstrip().startswith("at ")][-SHOWN_LINES:]
    return "\n".join([what, *(f"  {line}" for line in end)]) if end else f"{what} and printed nothing"
