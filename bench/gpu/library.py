"""A llama.cpp with CUDA: one that is here, or a wheel of `xllamacpp` in the user's cache folder."""

import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory

from semif.errors import SemifError
from semif.models.llama_cpp_wheel import LIBRARY_PACKAGE
from semif.models.sources.cache import cache_root, sole_writer

INDEX = "https://xorbitsai.github.io/xllamacpp/whl/"
"""Where the wheels with CUDA are, a folder for each CUDA: cu128, cu132 (seen on 2026-11-29)."""
PROGRAM = "llama-server"
SECONDS = 1800


def check_build(folder: Path) -> list[str]:
    """What a folder of llama.cpp's libraries lacks for this benchmark."""
    wanted = {
        "libllama.so": "libllama.so*",
        "libggml-cuda*.so": "libggml-cuda*.so*",
        f"{PROGRAM} (the program to compare with)": PROGRAM,
    }
    return [shown for shown, pattern in wanted.items() if not any(folder.glob(pattern))]


def installed_wheel(cuda: str) -> Path:
    """The folder to put on PYTHONPATH, with the version of `xllamacpp` that is installed, but for CUDA.

    Raises SemifError where pip cannot get it.
    """
    wanted = version(LIBRARY_PACKAGE)
    root = cache_root() / "cuda-wheels"
    folder = root / f"{LIBRARY_PACKAGE}-{wanted}-{cuda}"
    with sole_writer(root):
        if not folder.is_dir():
            with TemporaryDirectory(dir=root) as work:
                target = Path(work) / "unpacked"
                _install(f"{LIBRARY_PACKAGE}=={wanted}", cuda, target)
                target.rename(folder)
    return folder


def _install(requirement: str, cuda: str, target: Path) -> None:
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-input", "--no-deps"]
    command += ["--disable-pip-version-check", "--only-binary", ":all:", "--target", str(target)]
    command += ["--index-url", INDEX + cuda, requirement]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=SECONDS)
        problem = done.stderr.strip() if done.returncode else ""
    except subprocess.TimeoutExpired:
        problem = f"pip took longer than {SECONDS} s"
    if problem:
        raise SemifError(
            f"{requirement} with {cuda} could not be installed from {INDEX}{cuda}: {problem[-300:]}; "
            "choose another --cuda, or name the folder of a llama.cpp that has CUDA with --library"
        )
