"""Finds and opens libllama, declares the functions that we call, and hears its log.

No header and no compiler are needed: the container holds only the shared libraries.
"""

import ctypes
import functools
import logging
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from semif_adapter.contract.errors import StartupError
from semif_adapter.llama.functions import FUNCTIONS
from semif_adapter.llama.reported_memory import Buffers
from semif_adapter.llama.struct_layouts import ContextLayout, ModelLayout

logger = logging.getLogger(__name__)

SPIN_COUNT = 1000
"""How long an OpenMP thread spins at a barrier before it sleeps, in rounds; GOMP_SPINCOUNT overrides it.

libgomp's own default of 300,000 lets a forward pass on busy CPUs take a hundred times as long, because
waiting threads take the CPU from the one that is waited for; 1000 costs nothing measurable on two idle ones.
"""

_NAMED = 5  # missing functions that a message names

_LOG_WARNING, _LOG_ERROR = 3, 4  # enum ggml_log_level
_MOST_ERRORS, _MOST_WARNINGS = 8, 20
_WORDS = re.compile(r":.*[A-Za-z]{2}")
"""What tells something behind the function's name; llama.cpp also rules lines with asterisks."""
_DEVICE_CPU = 0  # enum ggml_backend_dev_type; 3 is an accelerator beside the CPU (BLAS), 1 and 2 are GPUs
_DEVICE_GPUS = (1, 2)


class Device:
    """A compute device that ggml knows."""

    def __init__(self, name: str, description: str, backend: str, kind: int) -> None:
        self.name = name
        self.backend = backend
        self.description = description
        self.is_cpu = kind == _DEVICE_CPU
        self.is_gpu = kind in _DEVICE_GPUS

    def __str__(self) -> str:
        return f"{self.name} ({self.description})"


class Library:
    """One opened libllama; its functions are attributes under their C names."""

    def __init__(self, folder: Path) -> None:
        """Open the library in `folder`, load its backends and check its struct layouts.

        Raises StartupError where there is no library, no CPU backend, or an unsupported build.
        """
        self.errors: list[str] = []
        """The first error lines of llama.cpp's log since this was cleared."""
        self._warned: set[str] | None = None
        """Warnings of the load that is under way; None outside of one."""
        self.offloaded_layers = 0
        """Layers that the last loaded model put on GPUs, as llama.cpp's log reports them."""
        self.buffers = Buffers()
        """Memory of the last loaded model and of its contexts, as llama.cpp's log reports it."""
        self._folder = folder
        self._handles = [_open(path) for path in _files(folder)]
        self._declare(folder)
        self._log = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)(self._hear)
        self.llama_log_set(ctypes.cast(self._log, ctypes.c_void_p), None)
        if len(self._handles) > 1:
            self.ggml_backend_load_all_from_path(os.fsencode(folder))
        self.llama_backend_init()
        self.build = self._build()
        self.devices = self._devices()
        if not any(device.is_cpu for device in self.devices):
            raise StartupError(
                f"no CPU backend could be loaded from {folder}; SEMIF_LIBRARY_DIR must hold libggml-cpu*.so"
            )
        self.context_layout = ContextLayout.find(bytes(self.llama_context_default_params().raw), self.build)
        self.model_layout = ModelLayout.find(bytes(self.llama_model_default_params().raw), self.build)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"libllama's {name} is not declared")

    def _declare(self, folder: Path) -> None:
        missing = []
        for name, (result, arguments) in FUNCTIONS.items():
            function = self._symbol(name)
            if function is None:
                missing.append(name)
                continue
            function.restype, function.argtypes = result, arguments
            setattr(self, name, function)
        if missing:
            more = f" and {len(missing) - _NAMED} more" if len(missing) > _NAMED else ""
            raise StartupError(
                f"the libllama in {folder} is not supported: it lacks {', '.join(missing[:_NAMED])}{more}; "
                "use another build of the library (SEMIF_LIBRARY_DIR)"
            )

    def _symbol(self, name: str) -> Any:
        return next(
            (getattr(handle, name) for handle in reversed(self._handles) if hasattr(handle, name)), None
        )

    def _build(self) -> str:
        """What the build says of itself; no build has all of these."""
        parts = []
        for name, label in (("llama_version", ""), ("ggml_version", "ggml "), ("ggml_commit", "commit ")):
            function = self._symbol(name)
            if function is not None:
                function.restype, function.argtypes = ctypes.c_char_p, []
                value = function()
                if value and value != b"unknown":
                    parts.append(label + value.decode(errors="replace"))
        return ", ".join(parts) or "unknown"

    def _devices(self) -> tuple[Device, ...]:
        devices = []
        for index in range(self.ggml_backend_dev_count()):
            device = self.ggml_backend_dev_get(index)
            name, description = self.ggml_backend_dev_name(device), self.ggml_backend_dev_description(device)
            backend = self.ggml_backend_reg_name(self.ggml_backend_dev_backend_reg(device))
            kind = self.ggml_backend_dev_type(device)
            devices.append(Device(name.decode(), description.decode(), backend.decode(), kind))
        return tuple(devices)

    def _hear(self, level: int, text: bytes | None, _data: object) -> None:
        """llama.cpp's log callback; may be called from any of its threads."""
        line = (text or b"").decode(errors="replace").strip()
        if not line:
            return
        logger.debug("llama.cpp: %s", line)
        if level == _LOG_ERROR and len(self.errors) < _MOST_ERRORS:
            self.errors.append(line)
        if level == _LOG_WARNING and self._warned is not None and _WORDS.search(line):
            self._warn(line, self._warned)
        if offloaded := re.search(r"offloaded (\d+)/\d+ layers to GPU", line):
            self.offloaded_layers = int(offloaded[1])
        self.buffers.hear(line)

    def _warn(self, line: str, warned: set[str]) -> None:
        """Pass a warning on, once; some models have thousands of one kind."""
        if line not in warned and len(warned) < _MOST_WARNINGS:
            warned.add(line)
            logger.warning("llama.cpp: %s", line)

    @contextmanager
    def loading(self) -> Iterator[None]:
        """While a model is loaded: its errors and figures alone are kept, its warnings are passed on."""
        self.errors.clear()
        self.offloaded_layers = 0
        self.buffers.clear()
        self._warned = set()
        try:
            yield
        finally:
            self._warned = None

    def why_no_gpu(self) -> str:
        """Why no GPU is among the devices; ask before a model is loaded.

        llama.cpp does not say why it passes over a backend, so what hinders it is found by opening it again.
        """
        backends = sorted(self._folder.glob("libggml-cuda*.so"))
        if not backends:
            return f"there is no libggml-cuda*.so in {self._folder}"
        for path in backends:
            try:
                ctypes.CDLL(str(path))
            except OSError as error:
                return f"{path.name} cannot be opened: {_one_line(error)}"
        return self.reason()

    def reason(self) -> str:
        """The first error line of the log, for a message: the later ones tell what became of it."""
        return self.errors[0] if self.errors else "llama.cpp gave no reason"


@functools.cache
def open_library(folder: Path) -> Library:
    """The library in `folder`, opened once a process: it keeps our log callback and cannot be let go."""
    os.environ.setdefault("GOMP_SPINCOUNT", str(SPIN_COUNT))
    # The last line where the library kills the process, as one for a newer processor does (SIGILL).
    logger.info("opening llama.cpp in %s", folder)
    return Library(folder)


def _files(folder: Path) -> list[Path]:
    """Shared libraries to open, in the order of their dependencies."""
    bundled = sorted(folder.glob("xllamacpp*.so")) if folder.is_dir() else []
    if bundled:
        return bundled[:1]
    names = ("libggml-base.so", "libggml-cpu.so", "libggml.so", "libllama.so")
    paths = {name: path for name in names if (path := _versioned(folder, name)) is not None}
    if "libllama.so" not in paths:
        raise StartupError(
            f"no libllama.so in {folder}; set SEMIF_LIBRARY_DIR to the folder of llama.cpp's libraries "
            "or to the installed package xllamacpp"
        )
    return list(paths.values())


def _versioned(folder: Path, name: str) -> Path | None:
    return next((path for path in (folder / name, folder / f"{name}.0") if path.exists()), None)


def _open(path: Path) -> ctypes.CDLL:
    try:
        return ctypes.CDLL(str(path), mode=ctypes.RTLD_GLOBAL)
    except OSError as error:
        said = _one_line(error)
        # The C library says so of one for another processor, too, and names that.
        is_other_missing = "cannot open shared object file" in said and not said.startswith(str(path))
        advice = (
            "install the library that is missing (libgomp: Debian's package libgomp1)"
            if is_other_missing
            else "SEMIF_LIBRARY_DIR must hold a build of llama.cpp for this machine's processor and C library"
        )
        raise StartupError(f"{path} cannot be opened: {said}; {advice}") from None


def _one_line(error: OSError) -> str:
    return " ".join(str(error).split())
