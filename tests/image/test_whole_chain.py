"""The chain of tests/e2e once more, with all that is built: an image, and a model by wheels of its own."""

import pytest

from tests.e2e.test_chain import *  # noqa: F403 - its tests, in their order


@pytest.fixture(scope="module")
def builds_all() -> bool:
    """Yes: see the fixture of this name there."""
    return True
