"""The adapter on this machine: the same program as in the container, on llama.cpp from a PyPI wheel."""

import os
import re
import socket
from collections.abc import Mapping
from pathlib import Path

from semif.errors import SemifError, shown
from semif.models.gguf_file import SHARD, check_gguf, named_gguf, not_a_gguf
from semif.models.llama_cpp_wheel import LIBRARY_PACKAGE, installed_library
from semif.models.presets import Preset, load_preset, preset_names
from semif.models.sources.cache import cache_root
from semif.models.sources.fetch import fetch
from semif.progress import Progress
from semif.project.root import PROJECT_VARIABLE, how_to_install
from semif_adapter.archive.manifest import MANIFEST_FILE
from semif_adapter.contract.errors import StartupError
from semif_adapter.contract.settings import Settings


def library_folder() -> Path:
    """The folder of the installed llama.cpp library; raises SemifError where the wheel is not installed."""
    if folder := installed_library():
        return folder
    raise SemifError(
        f"llama.cpp is not installed here ({LIBRARY_PACKAGE} is missing); run {how_to_install('serve')}"
    )


def adapter_environment(
    what: str, *, host: str, port: int, progress: Progress, calibration: Path | None = None
) -> dict[str, str]:
    """The environment for `python -m semif_adapter serve` on `what`, a preset's name or a GGUF's path.

    A preset's GGUF is fetched and verified first. `calibration` takes the place of the preset's. The caller's
    own SEMIF_* settings stay in force. Raises SemifError for what is neither, for a setting that the adapter
    would refuse, and for an address that cannot be listened on.
    """
    _check_free(host, port)
    callers = adapter_variables(os.environ)
    try:
        Settings.from_env(callers)
    except StartupError as error:
        raise SemifError(str(error)) from None
    if calibration is not None and not calibration.is_file():
        raise SemifError(f"{calibration} is not a file")
    if named_gguf(what):
        path = (
            Path(what).expanduser().absolute()
        )  # a hub's cache holds links, and their names say which part it is
        if not path.is_file():
            raise SemifError(f"{path} is not a file")
        _check_model(path)
        model = {"gguf": path}
    else:
        model = {"model_dir": _model_folder(_preset(what), progress)}
    fixed = {"host": host, "port": port, "library_dir": library_folder(), "calibration": calibration}
    settings = Settings.model_validate({**fixed, **model})
    # Nobody collects CloudWatch's lines from a terminal.
    return {"SEMIF_METRICS": "off", **callers, **settings.to_env()}


def _check_model(path: Path) -> None:
    """Raise SemifError for a file that is no whole model; of a split one the beginning is looked at."""
    if other := not_a_gguf(path):
        raise SemifError(f"{path} is no model: {other}")
    if not SHARD.search(path.name):
        check_gguf(path)


def _preset(name: str) -> Preset:
    if name not in (known := preset_names()):
        raise SemifError(
            f"{shown(name)} is neither a preset nor a path that ends in .gguf; presets are {', '.join(known)}"
        )
    return load_preset(name)


def _model_folder(preset: Preset, progress: Progress) -> Path:
    """What the container finds in /opt/ml/model: the manifest and its members, here links to their files."""
    paths = [fetch(preset, progress), *filter(None, [preset.calibration_path])]
    manifest = preset.manifest()
    folder = cache_root() / "served" / manifest.sha256
    folder.mkdir(parents=True, exist_ok=True)
    for member, path in zip(manifest.members, paths, strict=True):
        link = folder / member.file
        link.unlink(missing_ok=True)
        link.symlink_to(path)
    (folder / MANIFEST_FILE).write_bytes(manifest.canonical_bytes())
    return folder


def adapter_variables(environ: Mapping[str, str]) -> dict[str, str]:
    """`environ` without the toolkit's own variable: the adapter refuses SEMIF_* that it does not know."""
    return {name: value for name, value in environ.items() if name != PROJECT_VARIABLE}


def is_own_name(host: str) -> bool:
    """Whether only this machine answers to `host`."""
    return re.fullmatch(r"localhost|127(\.[0-9]{1,3}){3}", host) is not None


def _check_free(host: str, port: int) -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            problem = (error.strerror or str(error)).lower()
            raise SemifError(
                f"{host}:{port} cannot be listened on: {problem}; choose another --port"
            ) from None
