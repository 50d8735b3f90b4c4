"""A cache of their own for tests that fetch, and a disk that is full."""

import resource
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache folder for this test."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "semif"


@pytest.fixture
def small_disk() -> Iterator[Callable[[int], None]]:
    """Call it, and no file of this process and its children grows beyond so many bytes: as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    yield lambda most: resource.setrlimit(resource.RLIMIT_FSIZE, (most, before[1]))
    resource.setrlimit(resource.RLIMIT_FSIZE, before)
