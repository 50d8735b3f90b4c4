"""Puts a run's tables and pictures where a page of `docs/` has a section of that name."""

import shutil
from pathlib import Path

from semif.project.root import project_root

PICTURES = ("times.png", "ratios.png")
HEADLINE = "headline-"
"""What the section of a model's few figures that are looked for first begins with."""


def check_section(name: str, root: Path | None = None) -> None:
    """Raise ValueError where no page of `docs/measured/`, nor `docs/performance.md`, has a section `name`."""
    _section(name, root)


def check_run(name: str, root: Path | None = None) -> None:
    """Raise ValueError where the engine's run on the model `name` has no place in the pages."""
    for section in (name, HEADLINE + name):
        check_section(section, root)


def keep_section(name: str, text: str, root: Path | None = None) -> None:
    """Make `text` the content of section `name`. Raises ValueError where no page has one."""
    page, before, behind = _section(name, root)
    page.write_text(f"{before}\n\n{text}\n\n{behind}")


def keep_run(name: str, output: Path, command: str, root: Path | None = None) -> None:
    """Make the engine's run in `output`, pictures too, the content of section `name`, and of its headline's.

    Raises ValueError where no page has one.
    """
    kept = {picture: f"performance-{name}-{picture}" for picture in PICTURES}
    shown = [f"![{Path(picture).stem}](../images/{file})" for picture, file in kept.items()]
    table = (output / "report.md").read_text().strip()
    keep_section(name, "\n\n".join([f"Measured with `{command}`.", table, *shown]), root)
    keep_section(HEADLINE + name, (output / "headline.md").read_text().strip(), root)
    for picture, file in kept.items():
        shutil.copyfile(output / picture, _docs(root) / "images" / file)


def _section(name: str, root: Path | None) -> tuple[Path, str, str]:
    """The page that has the section, and what stands before and behind the section's content."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    docs = _docs(root)
    for page in (*sorted((docs / "measured").glob("*.md")), *docs.glob("performance.md")):
        head, begun, rest = page.read_text().partition(begin)
        _, ended, tail = rest.partition(end)
        if begun and ended:
            return page, head + begin, end + tail
    raise ValueError(f'{docs} has no section "{name}": put {begin} and {end} into one of its pages')


def _docs(root: Path | None) -> Path:
    return (root or project_root()) / "docs"
