"""The settings that are tried, each one deviation from what the adapter asks llama.cpp for."""

from dataclasses import dataclass

from semif_adapter.llama.context import BATCH_TOKENS
from semif_adapter.machine.cpu import usable_cpus

OWN = "the adapter's"

_F32, _Q8_0 = 0, 8  # enum ggml_type
_OFF, _ON = 0, 1  # enum llama_flash_attn_type


@dataclass(frozen=True)
class Setting:
    """One deviation; None: as the adapter, or llama.cpp's default where the adapter leaves it at that."""

    name: str
    batch_tokens: int = BATCH_TOKENS
    """Of a pass and of a micro-batch."""
    threads: int | None = None
    flash: int | None = None
    kv_type: int | None = None
    is_unified: bool = False
    is_mapped: bool = True
    spin_count: int | None = None


SETTINGS = (
    Setting(OWN),
    Setting("the same once more"),
    Setting("flash attention off", flash=_OFF),
    Setting("flash attention on", flash=_ON),
    *(
        Setting(f"passes of {tokens} tokens", batch_tokens=tokens)
        for tokens in (64, 128, 256, 512, 1024)
        if tokens != BATCH_TOKENS
    ),
    Setting("keys and values in q8_0", kv_type=_Q8_0),
    Setting("keys and values in f32", kv_type=_F32),
    Setting("unified cache", is_unified=True),
    Setting("one thread", threads=1),
    *([Setting("threads: half of the CPUs", threads=usable_cpus() // 2)] if usable_cpus() > 2 else []),
    Setting("GOMP_SPINCOUNT=0", spin_count=0),
    Setting("GOMP_SPINCOUNT=300000", spin_count=300_000),
    Setting("weights read, not mapped", is_mapped=False),
)
