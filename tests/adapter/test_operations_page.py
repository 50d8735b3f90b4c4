"""The operator's page says what the code does: its tables are compared with their sources."""

import json
from pathlib import Path
from typing import Any

from semif_adapter import server
from semif_adapter.metrics import METRICS
from semif_adapter.settings import PREFIX, Settings

PAGE = Path(__file__).parents[2] / "docs" / "operations.md"


def settings_rows() -> list[str]:
    schema = Settings.model_json_schema()["properties"]
    return [
        f"| `{PREFIX}{name.upper()}` | {default(field.default)} | {allowed(schema[name])} "
        f"| {field.description} |"
        for name, field in Settings.model_fields.items()
    ]


def default(value: Any) -> str:
    return "unset" if value is None else f"`{json.dumps(value) if isinstance(value, bool) else value}`"


def allowed(schema: dict[str, Any]) -> str:
    kind = next(iter(schema.get("anyOf", [schema])))
    if "enum" in kind:
        return ", ".join(f"`{value}`" for value in kind["enum"])
    if "minimum" in kind:
        return f"{kind['minimum']:,.16g} to {kind['maximum']:,.16g}"
    if kind.get("type") == "boolean":
        return "`true`, `false`"
    return {"path": "a path"}.get(kind.get("format", ""), "a text")


def metrics_rows() -> list[str]:
    return [f"| `{m.name}` | {m.unit} | `{m.series}` ({m.kind}) | {m.help} |" for m in METRICS]


def test_the_page_lists_every_setting_as_it_is() -> None:
    told = [line for line in PAGE.read_text().splitlines() if line.startswith(f"| `{PREFIX}")]
    assert told == settings_rows()


def test_the_page_lists_every_figure_as_it_is() -> None:
    page = PAGE.read_text().splitlines()
    assert [line for line in page if "`semif_" in line and line.startswith("| `")] == metrics_rows()


def test_the_page_lists_the_exit_statuses() -> None:
    page = PAGE.read_text()
    for status in (server.EXIT_CLEAN, 1, 64, server.EXIT_ENGINE_DEAD, server.EXIT_UNFINISHED):
        assert f"\n| {status} |" in page
