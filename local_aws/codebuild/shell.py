"""The shell of a build: one instance for all commands, as CodeBuild keeps it for buildspec version 0.2."""

import contextlib
import json
import re
import secrets
import shlex
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping
from pathlib import Path

from local_aws.core.processes import Processes, StoppingError

INTERRUPTED = 130
_DUMP = (
    "import json, os, sys; json.dump({'cwd': os.getcwd(), 'env': dict(os.environ)}, open(sys.argv[1], 'w'))"
)


class BuildShell:
    """Runs commands one after another; the folder, variables and functions of one are there for the next.

    A command that ends the shell itself (`exit 1`) counts with its exit status; the next command gets a new
    shell in the same folder with the same exported variables.
    """

    def __init__(
        self,
        processes: Processes,
        program: str,
        *,
        environment: Mapping[str, str],
        folder: Path,
        scratch: Path,
        on_line: Callable[[str], None],
    ) -> None:
        self._processes = processes
        self._program = program
        self._environment = dict(environment)
        self._folder = folder
        self._scratch = Path(tempfile.mkdtemp(dir=scratch))
        self._on_line = on_line
        self._token = secrets.token_hex(16)
        self._end = re.compile(rb"(.*)" + self._token.encode() + rb" (\d+)\n", re.DOTALL)
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()
        self._interrupted = False

    def run(self, command: str) -> int:
        """Run one command to its end, hand its output to `on_line` line by line, return its exit status."""
        script = self._scratch / "command.sh"
        script.write_text(command + "\n")
        return self._send(f". {shlex.quote(str(script))}")

    def export(self, name: str, value: str) -> None:
        """Set and export a variable."""
        self._send(f"export {name}={shlex.quote(value)}")

    def environment(self) -> dict[str, str]:
        """The exported variables as they are now."""
        self._send(self._dump_command)
        self._load_state()
        return dict(self._environment)

    def interrupt(self) -> None:
        """End the running command from another thread; nothing more will run."""
        with self._lock:
            self._interrupted = True
            process = self._process
        if process is not None:
            self._processes.stop(process, grace_seconds=1)

    def close(self) -> None:
        """End the shell and everything that its commands left running."""
        process, self._process = self._process, None
        if process is not None:
            self._processes.stop(process, grace_seconds=1)
            for pipe in (process.stdin, process.stdout):
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()  # type: ignore[union-attr]  # both are pipes

    def _send(self, line: str) -> int:
        process = self._process or self._start()
        if process is None:
            return INTERRUPTED
        assert process.stdin is not None
        assert process.stdout is not None
        with contextlib.suppress(BrokenPipeError):  # it was ended meanwhile: the loop below finds no output
            process.stdin.write(
                f"{{ {line}\n}} </dev/null\nprintf '%s %s\\n' {self._token} \"$?\"\n".encode()
            )
            process.stdin.flush()
        for output in process.stdout:
            end = self._end.fullmatch(output)
            text = end.group(1) if end else output
            if text:
                self._on_line(text.decode(errors="replace").rstrip("\r\n"))
            if end:
                return int(end.group(2))
        status = process.wait()
        self.close()
        self._load_state()
        return status

    def _start(self) -> subprocess.Popen[bytes] | None:
        with self._lock:
            if self._interrupted:
                return None
            try:
                process = self._process = self._processes.start(
                    [self._program],
                    environment=self._environment,
                    folder=self._folder,
                    stdin=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                )
            except StoppingError:
                return None
        assert process.stdin is not None
        process.stdin.write(f"trap {shlex.quote(self._dump_command)} EXIT\n".encode())
        return process

    @property
    def _state(self) -> Path:
        return self._scratch / "state.json"

    @property
    def _dump_command(self) -> str:
        return shlex.join([sys.executable, "-I", "-S", "-c", _DUMP, str(self._state)])

    def _load_state(self) -> None:
        """Take over folder and variables; a shell that was killed left none and the last known ones stay."""
        if self._state.exists():
            state = json.loads(self._state.read_text())
            self._environment, self._folder = state["env"], Path(state["cwd"])
            self._state.unlink()
