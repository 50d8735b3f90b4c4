"""Puts a run's tables and pictures into `docs/`."""

import shutil
from pathlib import Path

from semif.project import project_root

BEGIN, END = "<!-- figures: begin -->", "<!-- figures: end -->"
PICTURES = ("times.png", "ratios.png")


def keep(output: Path, command: str) -> None:
    """Replace what stands between the marks of `docs/performance.md` by the run in `output`."""
    docs = project_root() / "docs"
    page = docs / "performance.md"
    head, _, rest = page.read_text().partition(BEGIN)
    _, _, tail = rest.partition(END)
    images = docs / "images"
    images.mkdir(exist_ok=True)
    for name in PICTURES:
        shutil.copyfile(output / name, images / f"performance-{name}")
    shown = "\n\n".join(f"![{Path(name).stem}](images/performance-{name})" for name in PICTURES)
    table = (output / "report.md").read_text()
    page.write_text(f"{head}{BEGIN}\n\nMeasured with `{command}`.\n\n{table}\n{shown}\n\n{END}{tail}")
