from collections.abc import Callable
from pathlib import Path

import pytest

from semif_adapter.contract.errors import StartupError
from semif_adapter.contract.settings import Settings
from semif_adapter.engine.engine import Engine
from semif_adapter.llama.context import Context
from semif_adapter.llama.libllama import Library
from semif_adapter.llama.model import Model
from semif_adapter.llama.reported_memory import Buffers
from semif_adapter.machine.memory import (
    MOST_REQUEST_BYTES,
    budget,
    cache_bytes,
    check_memory,
    memory_bytes,
    recurrent_bytes,
    request_bytes,
)

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
    assert recurrent_bytes({}.get, 64) == 0


def test_the_budget_is_what_llama_cpp_reports(tiny_gguf: Callable[..., Path], library: Library) -> None:
    model = Model(library, tiny_gguf(), gpu_layers=0)
    context = Context(model, streams=2, context_tokens=512, threads=1)
    memory = budget(library.buffers, saved_states=1000, own=500)
    expected = cache_bytes(model.metadata, 2 * 512)
    context.close()
    model.close()
    assert memory["weights_bytes"] == pytest.approx(tiny_gguf().stat().st_size, rel=0.5)
    assert memory["cache_bytes"] == pytest.approx(expected, rel=0.1)
    assert memory["compute_bytes"]
    parts = ("server_bytes", "weights_bytes", "cache_bytes", "saved_states_bytes", "compute_bytes")
    assert memory["sum_bytes"] == sum(memory[part] or 0 for part in parts)
    assert memory["limit_bytes"] == memory_bytes()
    assert memory["gpu_bytes"] == 0


def test_recurrent_states_are_estimated_as_llama_cpp_makes_them(
    tiny_gguf: Callable[..., Path], library: Library
) -> None:
    estimates = {}
    for name in ("qwen3", "qwen35"):
        model = Model(library, tiny_gguf(architecture=name), gpu_layers=0)
        context = Context(model, streams=2, context_tokens=512, threads=1, sequences=64)
        estimates[name] = recurrent_bytes(model.metadata, 64)
        reported = library.buffers.on_cpu("RS")
        context.close()
        model.close()
        assert estimates[name] == pytest.approx(reported, rel=0.05)
    assert estimates["qwen35"] > estimates["qwen3"] == 0


def test_requests_have_half_of_what_is_left(machine: Callable[..., Path], tmp_path: Path) -> None:
    assert request_bytes(4_000_000_000, 0, tmp_path / "tells nothing") == MOST_REQUEST_BYTES
    root = machine()
    assert request_bytes(3_896_000_000, 0, root) == 100_000_000
    assert request_bytes(0, 0, root) == MOST_REQUEST_BYTES
    for taken, left in ((4_036_000_000, 60), (5_000_000_000, 0)):
        with pytest.raises(StartupError, match=f"loaded model {left} MB are left, requests need 67 MB"):
            request_bytes(taken, 0, root)


def test_buffers_on_gpus_do_not_count_against_the_machines_memory(machine: Callable[..., Path]) -> None:
    buffers = Buffers()
    for line in (
        "load_tensors:   CPU_Mapped model buffer size =    10.00 MiB",
        "load_tensors:        CUDA0 model buffer size =   100.00 MiB",
        "llama_kv_cache:      CUDA0 KV buffer size =    20.00 MiB",
        "llama_kv_cache:        CPU KV buffer size =     3.00 MiB",
        "llama_kv_cache:        CPU KV buffer size =     2.00 MiB",
        "sched_reserve:   CUDA_Host compute buffer size =     4.00 MiB",
        "sched_reserve:   CUDA_Host compute buffer size =     1.50 MiB",
        "another line of 7.00 MiB",
    ):
        buffers.hear(line)
    mib = 1024 * 1024
    assert budget(buffers, 0, mib, machine()) == {
        "server_bytes": mib,
        "weights_bytes": 10 * mib,
        "cache_bytes": 5 * mib,
        "saved_states_bytes": 0,
        "compute_bytes": 3 * mib // 2,
        "sum_bytes": 35 * mib // 2,
        "limit_bytes": 4_096_000_000,
        "gpu_bytes": 120 * mib,
    }
    buffers.clear()
    assert budget(buffers, 0, 0, machine())["sum_bytes"] == 0


def test_the_budget_is_logged_at_the_start(
    library_dir: Path, tiny_gguf: Callable[..., Path], caplog: pytest.LogCaptureFixture
) -> None:
    settings = Settings(library_dir=library_dir, gguf=tiny_gguf(), context_tokens=512, streams=2)
    with caplog.at_level("INFO", logger="semif_adapter.engine.engine"):
        Engine.load(settings).close()
    (record,) = [record for record in caplog.records if record.message == "memory"]
    fields = vars(record)["fields"]
    assert 0 < fields["weights_bytes"] < fields["sum_bytes"] < fields["limit_bytes"]
