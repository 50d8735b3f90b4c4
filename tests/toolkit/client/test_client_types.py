"""The client's types, as mypy and pyright see them: `typed_client.py` says what each of them must find."""

import subprocess
import sys
from pathlib import Path

import pytest

from semif.project.root import project_root

TYPED = Path(__file__).with_name("typed_client.py")
CHECKERS = {
    "mypy": [sys.executable, "-m", "mypy"],
    "pyright": [str(project_root() / "node_modules" / ".bin" / "pyright"), "--pythonpath", sys.executable],
}


@pytest.mark.parametrize("checker", CHECKERS)
def test_the_choice_is_of_the_type_of_the_options(checker: str) -> None:
    found = subprocess.run(
        [*CHECKERS[checker], str(TYPED)],
        cwd=project_root(),
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert found.returncode == 0, found.stdout + found.stderr
