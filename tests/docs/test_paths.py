"""The files and folders that pages name between backticks are there, and the pages that sources name."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.pages.documented import PAGES, ROOT

UNDER = {"semif_adapter": ROOT / "adapter_image", "semif_constructs": ROOT / "constructs"}
"""Packages that texts name as imports do, and the folder that each lies in."""
FOLDERS = {folder.name for folder in ROOT.glob("[a-z]*") if folder.is_dir()} | set(UNDER)
"""What a path into the project begins with; `.semif` and its like hold what commands wrote."""
ENDINGS = ("csv", "json", "md", "py", "sh", "toml")
WRITTEN = ".lock.json"
"""The end of what a user's builds write."""
ELSEWHERE = {"docs/gguf.md"}
"""In the ggml repository."""
CODE = ("adapter_image", "bench", "cdk_app", "constructs", "environments", "examples", "local_aws", "semif")
SOURCES = sorted(
    path for folder in CODE for ending in ("py", "toml") for path in (ROOT / folder).rglob(f"*.{ending}")
)


def paths(page: Path) -> Iterator[str]:
    """The paths into the project that the page has between backticks, without those with a placeholder."""
    for path in re.findall(r"`([\w.*-]+(?:/[\w.*-]+)*/?)`", page.read_text()):
        has_ending = path.rpartition(".")[2] in ENDINGS
        is_here = path.partition("/")[0] in FOLDERS and "/" in path
        holds_place = re.search(r"\b[A-Z]{2,}\b", path) is not None  # environments/NAME.toml
        if path.endswith(WRITTEN):
            continue
        if is_here and (has_ending or path.endswith("/")) and not holds_place:
            yield path


def place(path: str) -> tuple[Path, str]:
    """The folder that the path begins in, and the path from there."""
    return UNDER.get(path.partition("/")[0], ROOT), path.rstrip("/")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_path_of_a_page_is_there(page: Path) -> None:
    missing = []
    for path in set(paths(page)):
        folder, below = place(path)
        if not any(folder.glob(below)):
            missing.append(path)
    assert missing == []


def test_every_file_that_a_page_names_without_its_folder_is_somewhere() -> None:
    names = {path.name for path in [*SOURCES, *(ROOT / "tests").rglob("*.py")]}
    for page in PAGES:
        for path in re.findall(r"`((?:\w+/)*\w+\.py)`", page.read_text()):
            assert path.rpartition("/")[2] in names, f"{page}: {path}"


def test_every_page_that_a_source_names_is_there() -> None:
    for source in SOURCES:
        for page in set(re.findall(r"\bdocs/[\w/-]+\.md\b", source.read_text())) - ELSEWHERE:
            assert (ROOT / page).exists(), f"{source}: {page}"


def test_a_path_that_is_not_there_would_be_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "`semif/gone.py`, `semif_adapter/gone/file.py`, `docs/gone/`; `models/PRESET.toml`, `models/*.toml`, "
        "`InvokeEndpoint/InvokeEndpointAsync`, `application/json`, `answers/`"
    )
    found = list(paths(page))
    assert found == ["semif/gone.py", "semif_adapter/gone/file.py", "docs/gone/", "models/*.toml"]
    assert [any(folder.glob(below)) for folder, below in map(place, found)] == [False, False, False, True]
