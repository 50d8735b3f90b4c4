"""A temporary folder of the tests' own: what they and their programs leave there fails them."""

import atexit
import os
import shutil
import tempfile
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

import pytest

UNTIL_THE_END = ("jsii-kernel-*", "tmp????????")
"""Of jsii's runtime, which runs as long as this process and removes them then."""


# Here and not in a hook: a conftest file imports the CDK, which starts a program that keeps this folder.
# pytest's own folders, which it keeps for a look at what failed, stay where they are.
os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", tempfile.gettempdir())
os.environ["TMPDIR"] = tempfile.tempdir = tempfile.mkdtemp(prefix="semif-tests-")
atexit.register(shutil.rmtree, tempfile.tempdir, ignore_errors=True)


@pytest.fixture(scope="session", autouse=True)
def nothing_is_left() -> Iterator[None]:
    """Every worker looks in its own folder, after the last of its tests."""
    yield
    names = (path.name for path in Path(tempfile.gettempdir()).iterdir())
    left = sorted(name for name in names if not any(fnmatch(name, pattern) for pattern in UNTIL_THE_END))
    assert not left, f"left in the temporary folder: {', '.join(left)}"
