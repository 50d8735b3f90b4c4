"""CONTRIBUTING.md's map of the house: every room is on it, in the words of its own docstring."""

import ast
import re
from pathlib import Path

import pytest

from tests.support.pages.documented import ROOT

PAGE = (ROOT / "CONTRIBUTING.md").read_text()
PACKAGES = (
    "adapter_image/semif_adapter",
    "bench",
    "cdk_app",
    "constructs/semif_constructs",
    "local_aws",
    "semif",
)


def purpose(room: Path) -> str:
    """The first paragraph of a room's docstring, without where to read on."""
    docstring = ast.get_docstring(ast.parse((room / "__init__.py").read_text()))
    assert docstring is not None
    words = " ".join(docstring.partition("\n\n")[0].split())
    return re.sub(r" See docs/[\w.]+$", "", words)


@pytest.mark.parametrize("package", PACKAGES)
def test_every_room_is_on_the_map_in_its_own_words(package: str) -> None:
    rooms = {path.parent.name: purpose(path.parent) for path in (ROOT / package).glob("*/__init__.py")}
    assert dict(re.findall(rf"^\| `{package}/(\w+)/` \| (.+) \|$", PAGE, re.MULTILINE)) == rooms
