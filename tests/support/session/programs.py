"""The programs that `make setup` installed, for tests and what they start: pytest may be run without make."""

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


def pytest_configure() -> None:
    """Before anything is imported: jsii starts the first `node` of PATH when the CDK is."""
    folders = [Path(sys.executable).parent, ROOT / "node_modules" / ".bin"]
    os.environ["PATH"] = os.pathsep.join([*map(str, folders), os.environ.get("PATH", os.defpath)])
