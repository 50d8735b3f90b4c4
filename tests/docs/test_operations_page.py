"""The operator's page says what the code does: its tables are compared with their sources."""

from pathlib import Path

from semif_adapter.contract.figures import METRICS
from semif_adapter.http import server

PAGE = Path(__file__).parents[2] / "docs" / "operations.md"


def metrics_rows() -> list[str]:
    return [f"| `{m.name}` | {m.unit} | `{m.series}` ({m.kind}) | {m.help} |" for m in METRICS]


def test_the_page_lists_every_figure_as_it_is() -> None:
    page = PAGE.read_text().splitlines()
    assert [line for line in page if "`semif_" in line and line.startswith("| `")] == metrics_rows()


def test_the_page_lists_the_exit_statuses() -> None:
    page = PAGE.read_text()
    for status in (server.EXIT_CLEAN, 1, 64, server.EXIT_ENGINE_DEAD, server.EXIT_UNFINISHED):
        assert f"\n| {status} |" in page
