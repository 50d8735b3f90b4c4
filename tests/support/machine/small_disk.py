"""A disk that is full."""

import resource
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def small_disk(most: int) -> Iterator[None]:
    """Inside, no file of this process and its children grows beyond `most` bytes: as on a full disk.

    Not a fixture: that would still hold when pytest writes its own report, to a file perhaps.
    """
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
