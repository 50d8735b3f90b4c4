"""The kernels that a measurement runs on: the installed library's, or those of a processor's generation.

A build with plugins has a CPU backend for each generation and takes the best that the processor can run, as
the container does. Left alone in a folder an older generation's is taken: what such a processor would run,
measured on this one.
"""

import ctypes
from pathlib import Path

from bench.llama_builds.fetch import fetch_build, known_builds
from semif.errors import SemifError
from semif.serve.local_adapter import library_folder

BUILD = "v0.5.0"
"""Of builds.toml, with plugins."""
INSTALLED, BEST = "installed", "best"
_PLUGIN = "libggml-cpu-"

KERNELS_HELP = (
    f"the library's kernels: {INSTALLED} (xllamacpp's, which has AVX2 alone), {BEST} (what llama.cpp "
    f"{BUILD} takes on this processor, as the container does), or one of its backends, such as haswell "
    "(AVX2), skylakex (AVX-512), icelake (AVX-512 VNNI), sapphirerapids (AMX), if this processor can; "
)


def kernels_folder(name: str) -> Path:
    """The libraries to open for the kernels `name`.

    Raises SemifError for a backend that the build does not have, RuntimeError where it cannot be fetched.
    """
    if name == INSTALLED:
        return library_folder().resolve()
    libraries = fetch_build(known_builds()[BUILD])
    if name == BEST:
        return libraries
    known = sorted(path.stem.removeprefix(_PLUGIN) for path in libraries.glob(f"{_PLUGIN}*.so"))
    if name not in known:
        raise SemifError(f'no kernels "{name}"; choose {INSTALLED}, {BEST} or one of {", ".join(known)}')
    alone = libraries.with_name(f"only-{name}")
    alone.mkdir(exist_ok=True)
    for path in libraries.iterdir():
        link = alone / path.name
        if not link.exists() and (not path.name.startswith(_PLUGIN) or path.stem == _PLUGIN + name):
            link.symlink_to(path)
    return alone


def kernel_features() -> list[str]:
    """What the CPU backend of the library that this process has opened is compiled for."""
    function = ctypes.CDLL(None).llama_print_system_info
    function.restype = ctypes.c_char_p
    told = [word.partition("=") for word in function().decode().replace("CPU :", "").split("|")]
    return [name.strip() for name, _, value in told if value.strip() == "1"]


def backend_file() -> str:
    """The name of the shared library that holds this process's CPU backend."""
    mapped = {Path(line.split()[-1]).name for line in Path("/proc/self/maps").read_text().splitlines()}
    plugins = [name for name in mapped if name.startswith("libggml-cpu")]
    return next(iter(plugins or [name for name in mapped if name.startswith("xllamacpp")]), "unknown")
