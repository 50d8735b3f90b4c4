"""Where the project is, and where the toolkit's own files are that are no Python packages.

A project is the folder that holds `models/` with its presets, and `environments/` beside it. In a checkout
of the toolkit both are the same folder. The wheel brings the toolkit's files inside its package, and `semif
init` makes a project of some of them.
"""

import os
import sys
from pathlib import Path

from semif.errors import SemifError

PROJECT_VARIABLE = "SEMIF_PROJECT"

TOOLKIT_FILES = "toolkit_files"
"""The folder inside the package `semif` where the wheel has them (pyproject.toml)."""
_PACKAGED = Path(__file__).resolve().parents[1] / TOOLKIT_FILES
_CHECKOUT = Path(__file__).resolve().parents[2]


def project_root() -> Path:
    """The project's folder: `SEMIF_PROJECT`, else the current folder or a parent, else the source checkout.

    A folder counts when its `models/` holds at least one TOML file: a build machine gets only the files
    that a build needs, so nothing else can be relied on. Raises SemifError where there is none.
    """
    if project := _named_project():
        return project
    here = Path.cwd()
    for folder in (here, *here.parents, _CHECKOUT):
        if _is_project(folder):
            return folder
    raise SemifError(
        f"no models/*.toml in {here} or above it; run semif in the project's folder, set {PROJECT_VARIABLE}, "
        "or begin a project with `semif init`"
    )


def presets_root() -> Path:
    """The project's folder, or where there is none the toolkit's own files: whose `models/` are read.

    Raises SemifError where `SEMIF_PROJECT` names no project.
    """
    if project := _named_project():
        return project
    try:
        return project_root()
    except SemifError:
        return toolkit_root()


def toolkit_root() -> Path:
    """The folder in which the toolkit's files lie as in its repository: a checkout, or the wheel's part."""
    return _PACKAGED if _PACKAGED.is_dir() else _CHECKOUT


def how_to_install(extra: str) -> str:
    """What to run for the packages of the optional dependency `extra`."""
    return f"`{sys.executable} -m pip install 'semif[{extra}]'`" if _PACKAGED.is_dir() else "`make setup`"


def with_toolkit(environment: dict[str, str]) -> dict[str, str]:
    """`environment` for a Python that shall import `local_aws`, which the wheel does not install."""
    if not _PACKAGED.is_dir():
        return environment
    path = os.pathsep.join(filter(None, [str(_PACKAGED), environment.get("PYTHONPATH")]))
    return {**environment, "PYTHONPATH": path}


def _named_project() -> Path | None:
    named = os.environ.get(PROJECT_VARIABLE)
    if not named:
        return None
    if _is_project(Path(named)):
        return Path(named).resolve()
    raise SemifError(
        f"{PROJECT_VARIABLE}={named} holds no models/*.toml; set it to the project's folder or unset it"
    )


def _is_project(folder: Path) -> bool:
    return any((folder / "models").glob("*.toml"))
