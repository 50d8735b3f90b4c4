"""A process that measures whenever it is told to: one for each thing that is compared."""

import json
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

from semif.errors import SemifError


class Child:
    """`python -m COMMAND`, which says a line when it is ready and one for each that it is sent; `with` it."""

    def __init__(self, name: str, command: Sequence[str]) -> None:
        self.name = name
        self._process = subprocess.Popen(
            [sys.executable, "-m", *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.start: Any = None
        """What it said when it was ready."""

    def __enter__(self) -> "Child":
        self.start = self._read()
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()  # closes its input, which ends it

    def measure(self) -> Any:
        """What it says to having measured once more. Raises SemifError where it has ended instead."""
        assert self._process.stdin is not None
        print("go", file=self._process.stdin, flush=True)
        return self._read()

    def _read(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise SemifError(f"{self.name}: its process ended with status {self._process.wait()}")
        return json.loads(line)


def say(document: object) -> None:
    """One line to the parent, in the child."""
    print(json.dumps(document), flush=True)
