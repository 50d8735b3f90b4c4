"""Every patch of moto, and nothing else. Moto's inside changes with each release: the version is pinned."""

from importlib.metadata import version

# Checked before a module here imports what another moto might not have.
MOTO = "5.2.5"
if version("moto") != MOTO:
    raise ImportError(
        f"the local AWS patches moto {MOTO} and no other, found {version('moto')}; install the extra `demo`"
    )
