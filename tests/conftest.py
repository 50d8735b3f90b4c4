"""What all tests share: the embedded model, and a place of their own for what they write."""

from pathlib import Path

import pytest

from semif.presets import load_preset
from semif.sources import fetch


@pytest.fixture(scope="session")
def embedded_gguf() -> Path:
    """The embedded preset's GGUF (98 MB), verified; downloaded once per machine, into the user's cache."""
    return fetch(load_preset("embedded"))
