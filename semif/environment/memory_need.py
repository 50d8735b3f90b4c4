"""What a model needs, estimated before any deploy: memory on its instance, and time to start.

Memory is weights (the file's bytes), context (keys and values of every token that may be kept, and a hybrid
model's recurrent states), saved prompts and overhead. The preset names its context's bytes a token; where it
does not, nothing is guessed: the context is left out and a warning says so.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from semif.models.presets import AnyPreset, Preset
from semif.sagemaker.instances import InstanceType, instance_type
from semif_adapter.contract.settings import Settings
from semif_adapter.machine.mode_memory import chosen_mode, context_size, saved_bytes

OVERHEAD_BYTES = 1 << 30
"""The server, and llama.cpp's buffers: the largest, the logits of a pass of 512 tokens (batched mode and
llama-server; invariant mode has half), is 0.5 GB with Qwen3.5."""
USABLE_SHARE = 0.9
"""Of an instance's memory and of its GPUs': the rest is the system's, the driver's, and fragments."""

MIN_TIMEOUT_SECONDS, MAX_TIMEOUT_SECONDS = 60, 3600
"""SageMaker's bounds."""


@dataclass(frozen=True)
class MemoryNeed:
    """Bytes that a server with its model takes."""

    weights: int
    context: int | None
    """None: the preset does not tell."""
    context_tokens: int
    """Tokens that `context` is for, all streams or slots together."""
    saved_prompts: int
    """In the instance's memory, beside the context."""
    overhead: int
    on_gpu: bool
    """Whether weights and context go to the GPUs."""
    all_layers: bool
    """On a GPU: whether nothing of them stays in the instance's memory."""

    @property
    def gpu_bytes(self) -> int:
        """What must fit into the GPUs' memory together; 0 without GPUs."""
        return self.weights + (self.context or 0) + self.overhead if self.on_gpu else 0

    @property
    def host_bytes(self) -> int:
        """What must fit into the instance's own memory."""
        own = self.saved_prompts + self.overhead
        return own if self.on_gpu else own + self.weights + (self.context or 0)


def decision_need(preset: AnyPreset, settings: Settings) -> MemoryNeed:
    """What our adapter takes with these settings."""
    mode = chosen_mode(settings, on_gpu=settings.gpu_layers != 0)
    held = context_size(mode, streams=settings.streams, context_tokens=settings.context_tokens)
    longest = _context(preset, settings.context_tokens, 1) or 0
    can_cut = not _gguf(preset).recurrent_bytes
    return _need(
        preset,
        tokens=held.tokens,
        sequences=held.sequences,
        saved_prompts=saved_bytes(mode, longest, streams=settings.streams, can_cut=can_cut),
        gpu_layers=settings.gpu_layers,
    )


def text_need(preset: AnyPreset, variables: Mapping[str, str], *, on_gpu: bool) -> MemoryNeed:
    """What llama-server takes with these variables; its context is for all slots together."""
    layers = _number(variables, "SM_LLAMA_CPP_N_GPU_LAYERS", 999)
    return _need(
        preset,
        tokens=int(variables["SM_LLAMA_CPP_CTX_SIZE"]),
        sequences=_number(variables, "SM_LLAMA_CPP_PARALLEL", 1),
        saved_prompts=int(variables["SM_LLAMA_CPP_CACHE_RAM"]) << 20,
        gpu_layers=(-1 if layers >= 999 else layers) if on_gpu else 0,
    )


def decider_need(preset: AnyPreset) -> MemoryNeed:
    """What the server of Strands Decider takes, all of it on the GPU but as much again as it loads through.

    Its weights stay as they are in the files, 16 bits each. What PyTorch takes beside them was measured by
    nobody here; twice our own overhead stands for it.
    """
    return MemoryNeed(
        weights=preset.bytes,
        context=0,
        context_tokens=0,
        saved_prompts=0,
        overhead=2 * OVERHEAD_BYTES,
        on_gpu=True,
        all_layers=True,
    )


def _gguf(preset: AnyPreset) -> Preset:
    assert isinstance(preset, Preset), "the kind's own presets are of GGUFs"
    return preset


def _context(preset: AnyPreset, tokens: int, sequences: int) -> int | None:
    """Bytes of `tokens` tokens of `sequences` prompts; None where the preset does not tell."""
    told = _gguf(preset)
    per_token = told.context_bytes_per_token
    return per_token * tokens + told.recurrent_bytes * sequences if per_token else None


def _need(
    preset: AnyPreset, *, tokens: int, sequences: int, saved_prompts: int, gpu_layers: int
) -> MemoryNeed:
    return MemoryNeed(
        weights=preset.bytes,
        context=_context(preset, tokens, sequences),
        context_tokens=tokens,
        saved_prompts=saved_prompts,
        overhead=OVERHEAD_BYTES,
        on_gpu=gpu_layers != 0,
        all_layers=gpu_layers == -1,
    )


def memory_problems(need: MemoryNeed, names: Sequence[str]) -> Iterator[str]:
    """Each instance type that `need` does not fit, with the numbers."""
    for name in names:
        instance = instance_type(name)
        if need.on_gpu and not need.all_layers:  # how much stays behind depends on the model's layers
            both = instance.memory_bytes + instance.gpu_memory_bytes
            yield from _too_little(
                need, instance, need.gpu_bytes + need.host_bytes, both, "memory and GPU memory"
            )
            continue
        yield from _too_little(need, instance, need.host_bytes, instance.memory_bytes, "memory")
        yield from _too_little(need, instance, need.gpu_bytes, instance.gpu_memory_bytes, "GPU memory")


def _too_little(
    need: MemoryNeed, instance: InstanceType, wanted: int, there: int, what: str
) -> Iterator[str]:
    if wanted <= there * USABLE_SHARE:
        return
    parts = {
        "weights": 0 if need.on_gpu and what == "memory" else need.weights,
        f"context of {need.context_tokens:,} tokens": 0 if need.on_gpu and what == "memory" else need.context,
        "saved prompts": 0 if what == "GPU memory" else need.saved_prompts,
        "overhead": need.overhead,
    }
    listed = ", ".join(f"{part} {gib(size)}" for part, size in parts.items() if size)
    yield (
        f"{instance.name} has {gib(there)} of {what}, {gib(int(there * USABLE_SHARE))} of it "
        f"usable, needed are {gib(wanted)}: {listed}; take a larger type or a smaller model, or keep "
        "less context"
    )


def memory_warnings(need: MemoryNeed) -> Iterator[str]:
    """What the estimate leaves out."""
    if need.context is None:
        yield (
            "the memory of the context is not counted: the preset has no context_bytes_per_token "
            "(docs/environments.md tells how to count it)"
        )


def scaled_download_seconds(model_bytes: int) -> int:
    """Time to fetch and unpack a model: 5 minutes and a second for every 5 MB, in whole minutes."""
    return _scaled(model_bytes, bytes_per_second=5_000_000)


def scaled_startup_seconds(model_bytes: int) -> int:
    """Time to load a model until `/ping` is healthy: 5 minutes and a second for every 10 MB, as above."""
    return _scaled(model_bytes, bytes_per_second=10_000_000)


def _scaled(model_bytes: int, *, bytes_per_second: int) -> int:
    seconds = 60 * math.ceil((300 + model_bytes / bytes_per_second) / 60)
    return min(max(seconds, MIN_TIMEOUT_SECONDS), MAX_TIMEOUT_SECONDS)


def gib(size: int) -> str:
    """`size` in bytes for people, in the unit that instance types are sold by: 2.8 GiB."""
    return f"{size / 2**30:.1f} GiB"


def _number(variables: Mapping[str, str], name: str, default: int) -> int:
    """A variable as a whole number; what is no number counts as its default, llama-server will refuse it."""
    try:
        return int(variables[name])
    except (KeyError, ValueError):
        return default
