"""Reports as one page that needs nothing else: no script, no request, light and dark, on desks and phones."""

from collections.abc import Sequence
from dataclasses import dataclass

from jinja2 import Environment, PackageLoader, StrictUndefined

from semif.evaluation.report.pages.svg import Picture
from semif.evaluation.report.tables.table import ReportTable


@dataclass(frozen=True)
class Tile:
    """One figure that matters most."""

    label: str
    value: str
    note: str


def page(
    *,
    title: str,
    lead: str,
    warnings: Sequence[str],
    tiles: Sequence[Tile],
    pictures: Sequence[Picture],
    tables: Sequence[ReportTable],
    lists: Sequence[ReportTable],
    command: str,
) -> str:
    """The HTML. Every text is escaped; `lists` are tables that may be long and are folded away."""
    environment = Environment(
        loader=PackageLoader("semif.evaluation.report.pages", "."), autoescape=True, undefined=StrictUndefined
    )
    return environment.get_template("page.html").render(
        title=title,
        lead=lead,
        warnings=warnings,
        tiles=tiles,
        pictures=pictures,
        tables=tables,
        lists=lists,
        command=command,
    )
