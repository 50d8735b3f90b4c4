"""Becomes another program that cannot outlive the process that started it (Linux: the kernel sees to it).

Run as `python child.py PARENT_PID PROGRAM ARGUMENT…`, by path and without imports of ours, so that nothing in
the program's environment can change what is run here.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def main() -> None:
    """Ask for SIGKILL at the parent's death, then replace this process by the program."""
    parent, *program = sys.argv[1:]
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != int(parent):  # it died before prctl
            sys.exit(1)
    try:
        os.execvp(program[0], program)  # noqa: S606 - an argument list, no shell
    except OSError as error:
        print(f"{program[0]}: {error.strerror}", file=sys.stderr)  # noqa: T201 - what a shell would say
        sys.exit(127)


main()
