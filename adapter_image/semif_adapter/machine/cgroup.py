"""Where the limits of this process's control group are written, in both versions of cgroups."""

from collections.abc import Iterator
from pathlib import Path, PurePosixPath


def limit_files(root: Path, controller: str, v2: str, v1: str) -> Iterator[Path]:
    """The files that may limit `controller`, the process's own group first, then each of its parents.

    `v2` and `v1` are the files' names in the versions of cgroups; `root` is where `proc` and `sys` lie. A
    container without a cgroup namespace sees a path of the host that is not mounted: its own group is then
    the mount's root, which comes last in any case.
    """
    own, own_v1 = PurePosixPath("/"), PurePosixPath("/")
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        lines = []
    for line in lines:
        _, controllers, group = line.split(":", 2)
        if controllers == "":
            own = PurePosixPath(group)
        elif controller in controllers.split(","):
            own_v1 = PurePosixPath(group)
    mount = root / "sys/fs/cgroup"
    for name, folder, path in ((v2, mount, own), (v1, mount / controller, own_v1)):
        for parent in (path, *path.parents):
            yield folder / str(parent).lstrip("/") / name


def numbers(file: Path) -> list[int] | None:
    """The whole numbers in `file`; None where it is missing or says `max`."""
    try:
        return [int(word) for word in file.read_text().split()]
    except (OSError, ValueError):
        return None
