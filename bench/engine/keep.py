"""Puts a run's tables and pictures into `docs/performance.md`."""

import shutil
from pathlib import Path

from semif.project import project_root

PICTURES = ("times.png", "ratios.png")


def keep_section(name: str, text: str, root: Path | None = None) -> None:
    """Replace what stands between the marks of section `name` by `text`.

    Raises ValueError where the page has no such section.
    """
    page = (root or project_root()) / "docs" / "performance.md"
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    head, begun, rest = page.read_text().partition(begin)
    _, ended, tail = rest.partition(end)
    if not begun or not ended:
        raise ValueError(f'{page} has no section "{name}": put {begin} and {end} where it shall stand')
    page.write_text(f"{head}{begin}\n\n{text}\n\n{end}{tail}")


def keep_run(name: str, output: Path, command: str, root: Path | None = None) -> None:
    """Put the engine's run on the model `name` in `output`, pictures too, into the section of that name.

    Raises ValueError where the page has none.
    """
    shown = []
    for picture in PICTURES:
        kept = f"images/performance-{name}-{picture}"
        shown.append(f"![{Path(picture).stem}]({kept})")
    table = (output / "report.md").read_text()
    keep_section(name, "\n\n".join([f"Measured with `{command}`.", table.strip(), *shown]), root)
    images = (root or project_root()) / "docs" / "images"
    images.mkdir(exist_ok=True)
    for picture in PICTURES:
        shutil.copyfile(output / picture, images / f"performance-{name}-{picture}")
