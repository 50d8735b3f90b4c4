"""The Makefile's set-up, run by make itself with stand-ins for what it would download."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

PROGRAMS = ("bash", "dirname", "ln", "make", "rm", "sed", "touch")
"""What the rules take from the machine, which so has no Node.js of its own."""
PYTHON = """#!/usr/bin/env bash
case "$*" in
  *"-m pip install"*) echo "$*" >>installed; echo "$(<requirements/node.txt)" >wheel/version ;;
  *) echo "$PWD/wheel" ;;
esac
"""
NODE = '#!/usr/bin/env bash\necho "v$(<"$(dirname "$(readlink -f "$0")")/../version")"\n'


@pytest.fixture
def checkout(tmp_path: Path, root: Path) -> Path:
    """A checkout that is set up but for Node.js, of which requirements/node.txt pins 22.1.0."""
    for folder in ("requirements", "machine", ".venv/bin", "wheel/bin", "wheel/lib/node_modules/npm/bin"):
        (tmp_path / folder).mkdir(parents=True)
    shutil.copy(root / "Makefile", tmp_path)
    for name in (*PROGRAMS, "readlink"):
        found = shutil.which(name)
        assert found is not None, name
        (tmp_path / "machine" / name).symlink_to(found)
    (tmp_path / "machine" / "env").symlink_to(shutil.which("env") or "")
    for file, text in (
        (".venv/bin/python", PYTHON),
        ("wheel/bin/node", NODE),
        ("wheel/lib/node_modules/npm/bin/npm-cli.js", NODE),
    ):
        (tmp_path / file).write_text(text)
        (tmp_path / file).chmod(0o755)
    for name, text in (
        ("requirements/dev.txt", ""),
        ("pyproject.toml", ""),
        ("requirements/node.txt", "22.1.0"),
    ):
        (tmp_path / name).write_text(text)
        os.utime(tmp_path / name, (1, 1))
    (tmp_path / ".venv" / ".python").touch()
    return tmp_path


def set_up(checkout: Path) -> str:
    done = subprocess.run(
        ["make", ".venv/.node"],
        cwd=checkout,
        env={"PATH": str(checkout / "machine")},
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    )
    return done.stdout


def pin(checkout: Path, version: str) -> None:
    (checkout / "requirements" / "node.txt").write_text(version)
    os.utime(checkout / ".venv" / ".node", (1, 1))


def node_version(checkout: Path) -> str:
    node = checkout / ".venv" / "bin" / "node"
    return subprocess.run([node], check=True, capture_output=True, text=True, timeout=60).stdout.strip()


def test_another_pin_of_node_is_installed_over_our_own_older_one(checkout: Path) -> None:
    assert "taking it from PyPI" in set_up(checkout)
    assert node_version(checkout) == "v22.1.0"
    assert set_up(checkout) == "make: '.venv/.node' is up to date.\n"
    pin(checkout, "22.2.0")
    assert "taking it from PyPI" in set_up(checkout)
    assert node_version(checkout) == "v22.2.0"


def test_the_machines_own_node_is_taken_where_it_is_new_enough(checkout: Path) -> None:
    for name, answer in (("node", "v22.9.0"), ("npm", "10.0.0")):
        (checkout / "machine" / name).write_text(f"#!/usr/bin/env bash\necho {answer}\n")
        (checkout / "machine" / name).chmod(0o755)
    assert set_up(checkout) == ""
    assert not (checkout / "installed").exists()
    (checkout / "machine" / "node").write_text("#!/usr/bin/env bash\necho v20.9.0\n")
    pin(checkout, "22.2.0")
    assert "taking it from PyPI" in set_up(checkout)
    assert node_version(checkout) == "v22.2.0"


def test_every_tool_that_writes_locks_is_installed_from_a_lock(root: Path) -> None:
    """By hashes: who writes every other lock could else put anything into them."""
    makefile = (root / "Makefile").read_text()
    installs = [
        line for line in makefile.splitlines() if "pip install" in line and "--editable ." not in line
    ]
    assert len(installs) == 3
    for line in installs:
        assert "--require-hashes -r requirements/" in line
    assert "uv==" in (root / "requirements" / "lock.txt").read_text()
