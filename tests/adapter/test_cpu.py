from pathlib import Path

import pytest

from semif_adapter.cpu import usable_cpus

V1 = ("cpu/cpu.cfs_quota_us", "cpu/cpu.cfs_period_us")


@pytest.mark.parametrize(
    ("files", "affinity", "expected"),
    [
        ({"cpu.max": "150000 100000\n"}, 16, 1),
        ({"cpu.max": "765000 100000\n"}, 16, 7),
        ({"cpu.max": "50000 100000\n"}, 16, 1),
        ({"cpu.max": "max 100000\n"}, 16, 16),
        ({"cpu.max": "800000 100000\n"}, 4, 4),
        ({V1[0]: "150000\n", V1[1]: "100000\n"}, 16, 1),
        ({V1[0]: "765000\n", V1[1]: "100000\n"}, 16, 7),
        ({V1[0]: "-1\n", V1[1]: "100000\n"}, 16, 16),
        ({"cpu.max": "nonsense\n"}, 3, 3),
        ({}, 5, 5),
    ],
)
def test_threads_follow_the_quota_and_the_affinity(
    tmp_path: Path, files: dict[str, str], affinity: int, expected: int
) -> None:
    for name, text in files.items():
        file = tmp_path / "sys/fs/cgroup" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    assert usable_cpus(tmp_path, affinity) == expected
