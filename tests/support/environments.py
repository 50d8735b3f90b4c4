"""Fixtures: the checkout, environments from the text of a file, and locks for them."""

from collections.abc import Callable
from pathlib import Path

import pytest

from semif.environment.environment import Environment, read_environment
from semif.lock.lock_file import Lock
from tests.infra import example_locks


@pytest.fixture(scope="session")
def root() -> Path:
    """The checkout."""
    return Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def example_lock() -> Callable[[Environment], Lock]:
    """The lock that builds might have left for an environment."""
    return example_locks.example_lock


@pytest.fixture
def environment_of(tmp_path: Path) -> Callable[..., Environment]:
    """An environment from the text of a file."""

    def read(text: str, name: str = "test") -> Environment:
        path = tmp_path / f"{name}.toml"
        path.write_text(text)
        return read_environment(path)

    return read
