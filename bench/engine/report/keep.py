"""Puts a run's tables and pictures where a page of `docs/measured/` has a section of that name."""

import shutil
from pathlib import Path

from semif.project.root import project_root

PICTURES = ("times.png", "ratios.png")


def check_section(name: str, root: Path | None = None) -> None:
    """Raise ValueError where no page of `docs/measured/` has a section `name`."""
    _section(name, root)


def keep_section(name: str, text: str, root: Path | None = None) -> None:
    """Make `text` the content of section `name`. Raises ValueError where no page has one."""
    page, before, behind = _section(name, root)
    page.write_text(f"{before}\n\n{text}\n\n{behind}")


def keep_run(name: str, output: Path, command: str, root: Path | None = None) -> None:
    """Make the engine's run in `output`, pictures too, the content of section `name`.

    Raises ValueError where no page has one.
    """
    kept = {picture: f"performance-{name}-{picture}" for picture in PICTURES}
    shown = [f"![{Path(picture).stem}](../images/{file})" for picture, file in kept.items()]
    table = (output / "report.md").read_text().strip()
    keep_section(name, "\n\n".join([f"Measured with `{command}`.", table, *shown]), root)
    for picture, file in kept.items():
        shutil.copyfile(output / picture, _docs(root) / "images" / file)


def _section(name: str, root: Path | None) -> tuple[Path, str, str]:
    """The page that has the section, and what stands before and behind the section's content."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    folder = _docs(root) / "measured"
    for page in sorted(folder.glob("*.md")):
        head, begun, rest = page.read_text().partition(begin)
        _, ended, tail = rest.partition(end)
        if begun and ended:
            return page, head + begin, end + tail
    raise ValueError(f'{folder} has no section "{name}": put {begin} and {end} into one of its pages')


def _docs(root: Path | None) -> Path:
    return (root or project_root()) / "docs"
