"""`python -m local_aws`: an AWS on this machine, until SIGTERM, SIGINT or (if asked) the end of its input.

It also ends when its server.json is gone: nobody could find it any more, to stop it.
"""

import argparse
import contextlib
import fcntl
import json
import os
import shutil
import signal
import socket
import sys
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from local_aws.core.context import ACCOUNT, HOST, LocalContext

SERVER_FILE = "server.json"
LOOK_SECONDS = 1.0
"""Between two looks whether server.json is still there."""


def main() -> int:
    """Run the command line; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m local_aws", description=__doc__)
    parser.add_argument(
        "--port", type=int, default=0, help="port on 127.0.0.1; 0, the default, takes a free one"
    )
    parser.add_argument("--region", default="us-east-1", help="the only region there is")
    parser.add_argument(
        "--state", type=Path, default=Path(".semif/local"), help="folder of server.json and working files"
    )
    parser.add_argument(
        "--until-stdin-closes", action="store_true", help="stop at the end of the input, e.g. with the parent"
    )
    arguments = parser.parse_args()
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    try:
        with _only_one(arguments.state), _listening(arguments.port) as listener:
            _run(arguments, listener, stop)
    except (OSError, ImportError) as error:
        print(f"local_aws: {error}", file=sys.stderr)  # noqa: T201 - this is a command
        return 1
    return 0


def _run(arguments: argparse.Namespace, listener: socket.socket, stop: threading.Event) -> None:
    _prepare_environment()
    from local_aws.core import quick_imports  # noqa: PLC0415 - moto reads the environment when it is imported

    quick_imports.leave_out()
    from local_aws import server as http  # noqa: PLC0415 - after what it leaves out

    workspace = Path(tempfile.mkdtemp(prefix="work-", dir=arguments.state)).resolve()
    context = LocalContext(f"http://{HOST}:{listener.getsockname()[1]}", arguments.region, workspace)
    server = http.make(listener, context, http.extend_moto(context))
    try:
        thread = http.serve(server)
        with _announced(context, arguments.state) as announcement:
            if arguments.until_stdin_closes:
                threading.Thread(target=_wait_for_end_of_input, args=(stop,), daemon=True).start()
            while not stop.wait(LOOK_SECONDS) and announcement.stands():
                pass
        context.processes.stop_all()
        server.shutdown()
        thread.join()
    finally:
        context.processes.stop_all()
        server.server_close()
        shutil.rmtree(workspace, ignore_errors=True)


def _prepare_environment() -> None:
    """Moto's settings, and no credentials or profile of the user's in this process or its children."""
    for name in [name for name in os.environ if name.startswith(("AWS_", "MOTO_"))]:
        del os.environ[name]
    os.environ |= {
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "MOTO_ACCOUNT_ID": ACCOUNT,
        "MOTO_DISABLE_GLOBAL_CORS": "true",
    }


@contextlib.contextmanager
def _only_one(state: Path) -> Iterator[None]:
    """Hold the state folder for this process alone; the lock ends with the process, whatever ends it."""
    state.mkdir(parents=True, exist_ok=True)
    with (state / "server.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise OSError(
                f"another local AWS runs with the state folder {state}; stop it or give another with --state"
            ) from None
        for leftover in state.glob("work-*"):
            shutil.rmtree(leftover, ignore_errors=True)
        yield


@contextlib.contextmanager
def _listening(port: int) -> Iterator[socket.socket]:
    try:
        listener = socket.create_server((HOST, port))
    except OSError as error:
        raise OSError(f"cannot listen on {HOST} port {port}: {error.strerror}") from error
    with listener:
        yield listener


@dataclass(frozen=True)
class _Announcement:
    path: Path
    text: str

    def stands(self) -> bool:
        """Whether it is still to be read: not when the folder was removed, and not when another took it."""
        try:
            return self.path.read_text() == self.text
        except OSError:
            return False


@contextlib.contextmanager
def _announced(context: LocalContext, state: Path) -> Iterator[_Announcement]:
    """Tell where the AWS is, on stdout and in server.json, which is there exactly while it can be asked."""
    facts = {"endpoint_url": context.endpoint_url, "account": context.account, "region": context.region}
    text = json.dumps({"pid": os.getpid(), **facts}) + "\n"
    announcement, new = _Announcement(state / SERVER_FILE, text), state / f"{SERVER_FILE}.new"
    new.write_text(text)
    new.replace(announcement.path)
    print(json.dumps(facts), flush=True)  # noqa: T201 - this is a command
    try:
        yield announcement
    finally:
        if announcement.stands():
            announcement.path.unlink()


def _wait_for_end_of_input(stop: threading.Event) -> None:
    while os.read(0, 65536):  # not sys.stdin, whose lock this thread would hold at the interpreter's end
        pass
    stop.set()


if __name__ == "__main__":
    sys.exit(main())
