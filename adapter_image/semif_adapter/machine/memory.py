"""Whether a model fits into this machine's memory, found out before the kernel does."""

import resource
from collections.abc import Callable, Iterator
from pathlib import Path

from semif_adapter.contract.errors import StartupError
from semif_adapter.llama.reported_memory import KINDS, Buffers
from semif_adapter.machine.cgroup import limit_files, numbers

CACHE_BYTES_PER_VALUE = 2
"""Keys and values are kept as 16-bit floats, llama.cpp's default."""
STATE_BYTES_PER_VALUE = 4
MAX_STATE_BYTES = 512 * 1024 * 1024
"""Most memory of the saved states, but where the longest prompts need more (`mode_memory.saved_bytes`)."""


MOST_REQUEST_BYTES = 1 << 30
LEAST_REQUEST_BYTES = 32 << 20
"""Most and least memory that requests may have while they are read, checked and computed."""


def cache_bytes(metadata: Callable[[str], str | None], tokens: int) -> int:
    """Bytes of the keys and values of `tokens` tokens, from a GGUF's metadata.

    Names of the keys: `docs/gguf.md` in ggml. 0 where they do not tell: an architecture whose layers differ
    (an array instead of a number), or that keeps something smaller than keys and values.
    """
    number = whole_numbers(metadata)
    heads = number("attention.head_count")
    if not heads or number("attention.kv_lora_rank"):
        return 0
    width = number("embedding_length") // heads
    values = (number("attention.key_length") or width) + (number("attention.value_length") or width)
    layers = number("block_count") // (number("full_attention_interval") or 1)
    return tokens * layers * number("attention.head_count_kv") * values * CACHE_BYTES_PER_VALUE


def recurrent_bytes(metadata: Callable[[str], str | None], sequences: int) -> int:
    """Bytes of the recurrent states of `sequences`, from a GGUF's metadata.

    Of each recurrent layer the state and what its convolution still sees, 32-bit floats as in llama.cpp's
    `llama_hparams::n_embd_s` and `n_embd_r`. 0 where the metadata tell of no such layers.
    """
    number = whole_numbers(metadata)
    inner, state = number("ssm.inner_size"), number("ssm.state_size")
    seen = max(0, number("ssm.conv_kernel") - 1) * (inner + 2 * number("ssm.group_count") * state)
    interval = number("full_attention_interval")
    layers = number("block_count") - (number("block_count") // interval if interval else 0)
    return sequences * layers * (inner * state + seen) * STATE_BYTES_PER_VALUE


def whole_numbers(metadata: Callable[[str], str | None]) -> Callable[[str], int]:
    """Whole numbers of the model's architecture; 0 where there is none."""
    architecture = metadata("general.architecture")

    def number(key: str) -> int:
        value = metadata(f"{architecture}.{key}") or ""
        return int(value) if value.isdecimal() else 0

    return number


def memory_bytes(root: Path = Path("/")) -> int | None:
    """Memory that this process may use: the smallest of the machine's and the cgroups'; None if unknown."""
    limits = [
        values[0]
        for file in limit_files(root, "memory", "memory.max", "memory.limit_in_bytes")
        if (values := numbers(file))
    ]
    try:
        words = (root / "proc/meminfo").read_text().split()
        limits.append(int(words[words.index("MemTotal:") + 1]) * 1024)
    except (OSError, ValueError, IndexError):
        pass
    return min(limits, default=None)


def own_bytes(root: Path = Path("/")) -> int:
    """Memory that this process has taken and that no file backs, its libraries' included."""
    return _status(root).get("RssAnon", 0)


def budget(buffers: Buffers, saved_states: int, own: int, root: Path = Path("/")) -> dict[str, int]:
    """What a loaded model and its contexts take, in bytes, for the log.

    `saved_states` is what states kept beside the context may take at most, `own` what this process had taken
    before the load. `sum_bytes` is all of it but what lies on GPUs, `limit_bytes` what this process may use,
    where that is known.
    """
    parts = {
        "server_bytes": own,
        "weights_bytes": buffers.on_cpu("model"),
        "cache_bytes": buffers.on_cpu("KV", "RS"),
        "saved_states_bytes": saved_states,
        "compute_bytes": buffers.on_cpu("compute", "output"),
    }
    limit = memory_bytes(root)
    known = {} if limit is None else {"limit_bytes": limit}
    return {**parts, "sum_bytes": sum(parts.values()), **known, "gpu_bytes": buffers.on_gpu(*KINDS)}


def request_bytes(taken: int, saved_states: int, root: Path = Path("/")) -> int:
    """How much memory requests may have beside a loaded model: half of what is left.

    `taken` is the sum of its budget, of which `saved_states` come later. Raises StartupError where that is
    less than LEAST_REQUEST_BYTES: requests would end in broken connections, or the process by the kernel.
    """
    limit = memory_bytes(root)
    left = [] if limit is None else [limit - taken]
    left += (size - saved_states for size in _left_of_process_limits(root))
    half = min(left, default=2 * MOST_REQUEST_BYTES) // 2
    if half < LEAST_REQUEST_BYTES:
        raise StartupError(
            f"not enough memory: beside the loaded model {_mb(max(0, 2 * half))} are left, requests need "
            f"{_mb(2 * LEAST_REQUEST_BYTES)}; take a larger instance or a smaller model, or lower "
            "SEMIF_CONTEXT_TOKENS or SEMIF_STREAMS"
        )
    return min(half, MOST_REQUEST_BYTES)


def _left_of_process_limits(root: Path) -> Iterator[int]:
    """What this process may still take by its own limits (`ulimit -v`, `-d`), where it has any."""
    status = _status(root)
    for limit, taken in ((resource.RLIMIT_AS, "VmSize"), (resource.RLIMIT_DATA, "VmData")):
        soft, _ = resource.getrlimit(limit)
        if soft != resource.RLIM_INFINITY and taken in status:
            yield soft - status[taken]


def _status(root: Path) -> dict[str, int]:
    """The sizes in `/proc/self/status`, in bytes by their names; empty where there is no such file."""
    try:
        lines = (root / "proc/self/status").read_text().splitlines()
    except OSError:
        return {}
    words = (line.split() for line in lines)
    return {parts[0].rstrip(":"): int(parts[1]) * 1024 for parts in words if parts[2:] == ["kB"]}


def check_memory(weights: int, cache: int, root: Path = Path("/")) -> None:
    """Raise StartupError where `weights` and `cache`, in bytes, are more than the memory there is."""
    limit = memory_bytes(root)
    if limit is not None and weights + cache > limit:
        raise StartupError(
            f"not enough memory: the weights take {_mb(weights)} and the context {_mb(cache)}, "
            f"there are {_mb(limit)}; take a larger instance or a smaller model, "
            "or lower SEMIF_CONTEXT_TOKENS or SEMIF_STREAMS"
        )


def _mb(size: int) -> str:
    return f"{size / 1e6:.0f} MB"
