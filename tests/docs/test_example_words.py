"""A policy is made for one wording: the examples ask the same question in the same words."""

import importlib.util
import json
import sys
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from semif.client.values.wording import Wording, wording_of
from semif.project.root import project_root

ROOT = project_root()
EXAMPLES = ROOT / "examples"
TEAM = "Which team should handle this ticket?"


def options_of(descriptions: Mapping[str, str]) -> list[dict[str, str]]:
    return [{"id": name, "description": said} for name, said in descriptions.items()]


def decisions() -> Iterator[tuple[str, dict[str, Any]]]:
    yield "routing.json", json.loads((EXAMPLES / "routing.json").read_bytes())["decision"]
    for number, line in enumerate((EXAMPLES / "requests.jsonl").read_text().splitlines(), 1):
        yield f"requests.jsonl, {number}", json.loads(line)
    for name in ("tickets.toml", "llm-tickets.toml"):  # the pages ask their tables this question
        options = tomllib.loads((EXAMPLES / name).read_text())["options"]
        yield name, {"question": TEAM, "options": options_of(options)}
    page = ROOT / "semif" / "serve" / "ui" / "static" / "examples.json"
    for example in json.loads(page.read_bytes()):
        yield page.name, example["decision"]
    measured = tomllib.loads((EXAMPLES / "wordings" / "team.toml").read_text())["wordings"][1]
    yield "wordings/team.toml", measured | {"options": options_of(measured["options"])}


def program_words(monkeypatch: pytest.MonkeyPatch) -> Wording:
    spec = importlib.util.spec_from_file_location("example_words", EXAMPLES / "route_tickets.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)
    spec.loader.exec_module(module)
    return wording_of(module.TEAM.text, module.TEAM.wire_options)


def test_the_examples_ask_for_the_team_in_one_wording(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = {
        where: wording_of(decision["question"], decision["options"])
        for where, decision in decisions()
        if decision["question"] == TEAM
    }
    assert len(asked) == 11
    assert {where for where, words in asked.items() if words != program_words(monkeypatch)} == set()
