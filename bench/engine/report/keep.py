"""Puts a run's tables and pictures into `docs/performance.md`, which has a section for each model."""

import shutil
from pathlib import Path

from semif.project.root import project_root

PICTURES = ("times.png", "ratios.png")


def check_section(name: str, root: Path | None = None) -> tuple[str, str]:
    """What stands before and behind the content of section `name`; ValueError where the page has none."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    page = _page(root)
    head, begun, rest = page.read_text().partition(begin)
    _, ended, tail = rest.partition(end)
    if not begun or not ended:
        raise ValueError(f'{page} has no section "{name}": put {begin} and {end} where it shall stand')
    return head + begin, end + tail


def keep_section(name: str, text: str, root: Path | None = None) -> None:
    """Make `text` the content of section `name`. Raises ValueError where the page has none."""
    before, behind = check_section(name, root)
    _page(root).write_text(f"{before}\n\n{text}\n\n{behind}")


def keep_run(name: str, output: Path, command: str, root: Path | None = None) -> None:
    """Make the engine's run in `output`, pictures too, the content of section `name`.

    Raises ValueError where the page has none.
    """
    kept = {picture: f"performance-{name}-{picture}" for picture in PICTURES}
    shown = [f"![{Path(picture).stem}](images/{file})" for picture, file in kept.items()]
    table = (output / "report.md").read_text().strip()
    keep_section(name, "\n\n".join([f"Measured with `{command}`.", table, *shown]), root)
    for picture, file in kept.items():
        shutil.copyfile(output / picture, _page(root).parent / "images" / file)


def _page(root: Path | None) -> Path:
    return (root or project_root()) / "docs" / "performance.md"
