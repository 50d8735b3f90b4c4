"""docs/architecture.md draws what is there: its floors are the contracts', its files exist."""

import re
import tomllib
from typing import Any

import pytest

from tests.support.pages.documented import ROOT

PAGE = (ROOT / "docs" / "architecture.md").read_text()
PICTURES = re.findall(r"```mermaid\n(.*?)```", PAGE, re.DOTALL)
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
LAYERS = [contract for contract in SETTINGS["contracts"] if contract["type"] == "layers"]


@pytest.mark.parametrize("contract", LAYERS, ids=lambda contract: contract["name"])
def test_the_floors_are_those_of_the_contract(contract: dict[str, Any]) -> None:
    (picture,) = [picture for picture in PICTURES if f"%% {contract['name']}\n" in picture]
    chain: list[str] = []
    names: dict[str, str] = {}
    for line in picture.splitlines()[2:]:
        floors = re.findall(r'(f\d+)(?:\["([^"]+)"\])?', line)
        names |= {floor: name for floor, name in floors if name}
        assert not chain or floors[0][0] == chain[-1], "a line goes on where the one before ended"
        chain += [floor for floor, _ in floors[bool(chain) :]]
    assert [names[floor] for floor in chain] == contract["layers"]


def test_every_picture_of_floors_has_a_contract() -> None:
    drawn = re.findall(r"^ +%% (.+)$", "".join(PICTURES), re.MULTILINE)
    assert sorted(drawn) == sorted(contract["name"] for contract in LAYERS)


def test_the_files_on_the_ways_are_there() -> None:
    request, environment = (picture.replace("<br/>", " ") for picture in PICTURES[:2])
    adapter = ROOT / "adapter_image" / "semif_adapter"
    on_the_way = re.findall(r"\b([a-z_]+/(?:\w+\.py)?)", request)
    assert on_the_way
    assert [path for path in on_the_way if not (adapter / path).exists()] == []
    files = re.findall(r"\b([a-z_]+/[\w/]+\.(?:py|toml))", environment)
    assert files
    assert [path for path in files if not (ROOT / path).exists()] == []
