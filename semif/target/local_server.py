"""The AWS on this machine: started when a command with `--local` needs it, stopped when nothing is deployed.

It is a process of its own (`python -m local_aws`) that outlives the command: `semif deploy demo --local`
leaves it running, so that `semif decide demo --local` finds the endpoint. `.semif/local/server.json` says
where it is.
"""

import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from semif.aws.clients import Aws, aws_errors, without_aws
from semif.errors import SemifError
from semif.project.root import how_to_install, with_toolkit
from semif.signals import signals_put_off

FOLDER = Path(".semif") / "local"
"""Under the project's root: server.json, server.log, and the locks of the environments deployed here."""
COMMAND_LOCK = Path(".semif") / "command.lock"
"""Under the project's root. Whoever holds it may change what is on this machine."""

_START_SECONDS = 60.0
_STOP_SECONDS = 60.0
_LOOK_SECONDS = 0.1

_started: dict[int, "subprocess.Popen[bytes]"] = {}
"""Servers that this process started, by process id: forgetting one would close its pipe."""


@dataclass(frozen=True)
class Server:
    """A running AWS on this machine."""

    pid: int
    endpoint_url: str
    region: str
    account: str

    def aws(self) -> Aws:
        """Its clients."""
        return Aws(region=self.region, endpoint_url=self.endpoint_url)


def lock_path(root: Path, environment: str) -> Path:
    """Where an environment's lock for this machine lies: never among the committed ones."""
    return root / FOLDER / f"{environment}.lock.json"


def find_server(root: Path) -> Server | None:
    """The running server of this project, None where there is none."""
    server = _read(root)
    return server if server is not None and not _has_ended(root) else None


@contextmanager
def sole_command(root: Path) -> Iterator[None]:
    """Keep the project's other commands from changing the AWS on this machine during the block.

    The system frees the lock when the process ends, however it does. Raises SemifError where another command
    is at work.
    """
    path = root / COMMAND_LOCK
    path.parent.mkdir(exist_ok=True)
    with path.open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise SemifError(
                f"another semif command is at work on the AWS of this machine in {root}; wait for its end"
            ) from None
        yield


def ensure_server(root: Path, *, region: str | None, tied: bool = False) -> Server:
    """The running server of this project, started where there is none.

    It outlives this process unless it is started `tied` to it. Raises SemifError where it runs as another
    region than `region`, and with the end of its log where it does not come up.
    """
    server = find_server(root) or _start(root, region, tied)
    if region not in {None, server.region}:
        raise SemifError(
            f"the AWS on this machine runs as {server.region}, wanted is {region}; destroy what is there"
        )
    return server


def _start(root: Path, region: str | None, tied: bool) -> Server:
    if find_spec("moto") is None:
        raise SemifError(
            f"the AWS on this machine needs moto, which is missing; run {how_to_install('demo')}"
        )
    folder = root / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / "server.log"
    command = [sys.executable, "-m", "local_aws", "--state", str(folder)]
    command += ["--region", region] if region else []
    command += ["--until-stdin-closes"] if tied else []
    with log.open("wb") as output, signals_put_off() as let_signals_come:
        process = subprocess.Popen(
            command,
            cwd=root,
            env=with_toolkit(without_aws(os.environ)),
            # The pipe's other end is this process's: it closes with it, however it ends.
            stdin=subprocess.PIPE if tied else subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            let_signals_come()
            deadline = time.monotonic() + _START_SECONDS
            while process.poll() is None and time.monotonic() < deadline:
                server = _read(root)
                if server is not None and server.pid == process.pid:
                    _started[process.pid] = process
                    return server
                time.sleep(_LOOK_SECONDS)
        finally:
            if process.pid not in _started:
                process.terminate()
                process.wait(_STOP_SECONDS)
    end = log.read_text(errors="replace").splitlines()[-20:]
    raise SemifError("\n".join(["the AWS on this machine did not start", *(f"  {line}" for line in end)]))


def holds_stacks(aws: Aws) -> bool:
    """Whether a stack of any environment is deployed on `aws`, the AWS on this machine.

    All stacks are asked for there; in an account that is a right on all of them, which no policy of ours has.
    """
    with aws_errors():
        pages = aws.cloudformation.get_paginator("describe_stacks").paginate()
        stacks = [stack for page in pages for stack in page["Stacks"]]
    return any(
        stack["StackName"].startswith("Semif-") and stack["StackStatus"] != "DELETE_COMPLETE"
        for stack in stacks
    )


def stop_server(root: Path) -> bool:
    """Stop the project's server and all it started; False where none runs.

    Raises SemifError where it does not end in time.
    """
    server = find_server(root)
    if server is None:
        return False
    os.kill(server.pid, signal.SIGTERM)
    deadline = time.monotonic() + _STOP_SECONDS
    while not _has_ended(root):
        if time.monotonic() > deadline:
            raise SemifError(f"the AWS on this machine (process {server.pid}) does not stop; end it by hand")
        time.sleep(_LOOK_SECONDS)
    if process := _started.pop(server.pid, None):
        process.wait(_STOP_SECONDS)
    return True


def _has_ended(root: Path) -> bool:
    """Whether nobody holds the server's lock file, which the system frees when the process is really gone."""
    with (root / FOLDER / "server.lock").open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True


def _read(root: Path) -> Server | None:
    try:
        server = json.loads((root / FOLDER / "server.json").read_text())
        return Server(int(server["pid"]), server["endpoint_url"], server["region"], server["account"])
    except (OSError, ValueError, KeyError):
        return None
