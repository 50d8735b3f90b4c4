"""Where the project is: the folder that holds `models/` with its presets, and `environments/` beside it."""

import os
from pathlib import Path

from semif.errors import SemifError

PROJECT_VARIABLE = "SEMIF_PROJECT"


def project_root() -> Path:
    """The project's folder: `SEMIF_PROJECT`, else the current folder or a parent, else the source checkout.

    A folder counts when its `models/` holds at least one TOML file: a build machine gets only the files
    that a build needs, so nothing else can be relied on. Raises SemifError where there is none.
    """
    named = os.environ.get(PROJECT_VARIABLE)
    if named:
        if _is_project(Path(named)):
            return Path(named).resolve()
        raise SemifError(
            f"{PROJECT_VARIABLE}={named} holds no models/*.toml; set it to the project's folder or unset it"
        )
    here = Path.cwd()
    checkout = Path(__file__).resolve().parents[2]
    for folder in (here, *here.parents, checkout):
        if _is_project(folder):
            return folder
    raise SemifError(
        f"no models/*.toml in {here} or above it; run semif in the project's folder or set {PROJECT_VARIABLE}"
    )


def _is_project(folder: Path) -> bool:
    return any((folder / "models").glob("*.toml"))
