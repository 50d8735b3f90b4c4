"""What the reports and the calibration need beyond the toolkit's own packages."""

from importlib.util import find_spec

from semif.errors import SemifError
from semif.project.root import how_to_install

PACKAGES = {
    "jinja2": "jinja2",
    "jmespath": "jmespath",
    "matplotlib": "matplotlib",
    "numpy": "numpy",
    "scipy": "scipy",
    "sklearn": "scikit-learn",
}
"""What is imported, and the name under which it is installed: the extra `evaluate` of pyproject.toml."""


def need_evaluate_extra() -> None:
    """Raises SemifError with what to install, where a package of the extra is missing."""
    if missing := [name for module, name in PACKAGES.items() if find_spec(module) is None]:
        raise SemifError(f"{', '.join(missing)} not installed; run {how_to_install('evaluate')}")
