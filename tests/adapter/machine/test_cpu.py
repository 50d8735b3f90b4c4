from pathlib import Path

import pytest

from semif_adapter.machine.cpu import usable_cpus

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
        ({"pod/app/cpu.max": "max 100000\n", "pod/cpu.max": "300000 100000\n"}, 16, 3),
        ({"pod/app/cpu.max": "200000 100000\n", "pod/cpu.max": "300000 100000\n"}, 16, 2),
        ({"cpu/pod/app/cpu.cfs_quota_us": "-1\n", "cpu/pod/cpu.cfs_quota_us": "400000\n"}, 16, 4),
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
        if name.endswith("pod/cpu.cfs_quota_us"):
            file.with_name("cpu.cfs_period_us").write_text("100000\n")
    group = tmp_path / "proc/self/cgroup"
    group.parent.mkdir(parents=True)
    group.write_text("7:cpu,cpuacct:/pod/app\n0::/pod/app\n")

    assert usable_cpus(tmp_path, affinity) == expected
