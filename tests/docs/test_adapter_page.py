"""The container's page says what the code does: its tables are compared with their sources."""

import re
from collections.abc import Iterator
from pathlib import Path

from semif_adapter.contract.errors import AdapterError
from semif_adapter.contract.figures import METRICS
from semif_adapter.http import early_stop, server

PAGE = Path(__file__).parents[2] / "docs" / "adapter.md"


def metrics_rows() -> list[str]:
    return [f"| `{m.name}` | {m.unit} | `{m.series}` ({m.kind}) | {m.help} |" for m in METRICS]


def test_the_page_lists_every_figure_as_it_is() -> None:
    page = PAGE.read_text().splitlines()
    assert [line for line in page if "`semif_" in line and line.startswith("| `")] == metrics_rows()


def test_the_page_lists_the_exit_statuses() -> None:
    page = PAGE.read_text()
    for status in (early_stop.EXIT_CLEAN, 1, 64, server.EXIT_ENGINE_DEAD, server.EXIT_UNFINISHED):
        assert f"\n| {status} |" in page


def errors(kind: type[AdapterError] = AdapterError) -> Iterator[tuple[int, str]]:
    """Status and code of everything that a client is told."""
    for below in kind.__subclasses__():
        yield below.status, below.code
        yield from errors(below)


def test_the_page_lists_every_error_with_its_status() -> None:
    rows = re.findall(r"^\| ([45]\d\d) \| (`[a-z_`, ]+`) \|", PAGE.read_text(), re.MULTILINE)
    told = {(int(status), code) for status, codes in rows for code in re.findall(r"\w+", codes)}
    assert told == set(errors())
