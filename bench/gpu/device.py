"""The NVIDIA devices of this machine, as their driver tells them."""

import csv
import shutil
import subprocess
from dataclasses import dataclass

from semif.errors import SemifError

FIELDS = ("name", "driver_version", "memory.total")
SECONDS = 60


@dataclass(frozen=True)
class Device:
    """One GPU."""

    name: str
    driver: str
    memory: str


def devices() -> list[Device]:
    """All of them. Raises SemifError where there is no driver or no device."""
    program = shutil.which("nvidia-smi")
    if program is None:
        raise SemifError(
            "no NVIDIA driver was found here (nvidia-smi is not on PATH): run this on a machine with an "
            "NVIDIA GPU and its driver, such as an EC2 instance of g5, g6 or g6e with a GPU image"
        )
    command = [program, f"--query-gpu={','.join(FIELDS)}", "--format=csv,noheader"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        raise SemifError(f"nvidia-smi says nothing for {SECONDS} s: the driver or a device hangs") from None
    rows = [[cell.strip() for cell in row] for row in csv.reader(done.stdout.splitlines())]
    if done.returncode or not rows:
        said = " ".join((done.stderr or done.stdout).split())[:200] or "nothing"
        raise SemifError(
            f"nvidia-smi names no device (status {done.returncode}, it says: {said}): the driver must be "
            "loaded, and in a container the devices handed in"
        )
    return [Device(*row) for row in rows if len(row) == len(FIELDS)]
