"""What is made before the first test stays until the end: garbage is not looked for among it."""

import gc

import pytest

# Here and not in a hook: the imports of all test files come next, and make a million objects of which hardly
# one goes. Each look through all of them takes half a second.
gc.disable()


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """From here on only what tests make is looked through; what they leave open is still found."""
    gc.freeze()
    gc.enable()
