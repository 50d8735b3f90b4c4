from collections.abc import Callable
from pathlib import Path

import pytest

from semif_adapter.errors import StartupError
from semif_adapter.libllama import Library
from semif_adapter.llama import Model
from semif_adapter.memory import cache_bytes, check_memory, memory_bytes

MEMINFO = "MemTotal:       4000000 kB\nMemFree:        1000 kB\n"


@pytest.fixture
def machine(tmp_path: Path) -> Callable[..., Path]:
    """A root folder with `proc/meminfo` and the given cgroup files."""

    def make(group: str = "0::/\n", **files: str) -> Path:
        for name, text in {"proc/meminfo": MEMINFO, "proc/self/cgroup": group, **files}.items():
            file = tmp_path / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        return tmp_path

    return make


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({}, 4_096_000_000),
        ({"sys/fs/cgroup/memory.max": "max\n"}, 4_096_000_000),
        ({"sys/fs/cgroup/memory.max": "2000000000\n"}, 2_000_000_000),
        (
            {"sys/fs/cgroup/pod/memory.max": "1000000000\n", "sys/fs/cgroup/memory.max": "max\n"},
            1_000_000_000,
        ),
        ({"sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n"}, 4_096_000_000),
        ({"sys/fs/cgroup/memory/memory.limit_in_bytes": "3000000000\n"}, 3_000_000_000),
    ],
)
def test_the_smallest_limit_counts(
    machine: Callable[..., Path], files: dict[str, str], expected: int
) -> None:
    assert memory_bytes(machine(group="0::/pod\n", **files)) == expected


def test_a_machine_that_tells_nothing_refuses_nothing(tmp_path: Path) -> None:
    assert memory_bytes(tmp_path) is None
    check_memory(10**15, 0, tmp_path)


def test_too_little_memory_is_said_with_all_sizes(machine: Callable[..., Path]) -> None:
    root = machine()
    check_memory(4_000_000_000, 96_000_000, root)
    with pytest.raises(StartupError, match=r"weights take 4000 MB and the context 97 MB, there are 4096 MB"):
        check_memory(4_000_000_000, 97_000_000, root)


def test_the_cache_is_estimated_from_the_models_metadata(
    library: Library, tiny_gguf: Callable[..., Path]
) -> None:
    plain, hybrid = (
        Model(library, tiny_gguf(architecture=name), gpu_layers=0) for name in ("qwen3", "qwen35")
    )
    # 2 layers (the hybrid has one with attention), 2 KV heads, keys and values of 32 numbers of 2 bytes
    assert cache_bytes(plain.metadata, 1000) == 1000 * 2 * 2 * (32 + 32) * 2
    assert cache_bytes(hybrid.metadata, 1000) == 1000 * 1 * 2 * (32 + 32) * 2
    plain.close()
    hybrid.close()


def test_an_architecture_that_does_not_tell_counts_as_nothing() -> None:
    assert cache_bytes({}.get, 1000) == 0
