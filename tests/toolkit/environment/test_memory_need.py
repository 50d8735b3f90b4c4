"""Whether a model fits, and how long it may take to start."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.models.random_models import SHAPES
from semif.environment.environment import Environment, environment_names, load_environment
from semif.environment.memory_need import (
    MemoryNeed,
    decision_need,
    memory_problems,
    memory_warnings,
    scaled_download_seconds,
    scaled_startup_seconds,
)
from semif.errors import ProblemsError
from semif.models.gguf_file import check_gguf
from semif.models.presets import load_preset
from semif_adapter.contract.settings import Settings
from semif_adapter.machine.memory import MAX_STATE_BYTES, cache_bytes, recurrent_bytes
from semif_adapter.machine.mode_memory import JOINED_ROOM_TOKENS

EnvironmentOf = Callable[..., Environment]
AMI = 'inference_ami_version = "al2023-ami-sagemaker-inference-gpu-4-1"'


def decision(endpoint: str, adapter: str = "", preset: str = "qwen3.5-4b") -> str:
    return (
        f'kind = "decision"\nremoval = "destroy"\n[model]\npreset = "{preset}"\n[endpoint]\n{endpoint}\n'
        f"[adapter]\n{adapter}\n"
    )


def text(endpoint: str, variables: str) -> str:
    return decision(endpoint).replace('"decision"', '"text"').replace("[adapter]\n", f"[text]\n{variables}")


def test_the_embedded_presets_context_is_what_its_gguf_says(embedded_gguf: Path) -> None:
    """The adapter counts it so from the file; the preset says it before the file is there."""
    values = check_gguf(embedded_gguf).values
    counted = cache_bytes(lambda key: str(values[key]) if key in values else None, 1)
    assert load_preset("embedded").context_bytes_per_token == counted > 0


@pytest.mark.parametrize(
    ("endpoint", "adapter", "said"),
    [
        (
            'instance_type = "ml.c6i.large"',
            "",
            (
                "ml.c6i.large has 4.0 GiB of memory, 3.6 GiB of it usable, needed are 5.2 GiB: weights "
                "2.8 GiB, context of 16,384 tokens 0.7 GiB, saved prompts 0.7 GiB, overhead 1.0 GiB"
            ),
        ),
        (
            'instance_type = "ml.c6i.xlarge"',
            "context_tokens = 65536\nstreams = 8",
            "ml.c6i.xlarge has 8.0 GiB of memory, 7.2 GiB of it usable, needed are 36.6 GiB",
        ),
        (
            f'instance_type = "ml.g4dn.xlarge"\n{AMI}',
            "context_tokens = 65536\nstreams = 8",
            (
                "ml.g4dn.xlarge has 16.0 GiB of GPU memory, 14.4 GiB of it usable, needed are 22.9 GiB: "
                "weights 2.8 GiB, context of 524,288 tokens 19.1 GiB, overhead 1.0 GiB"
            ),
        ),
    ],
)
def test_a_model_that_does_not_fit_is_refused_with_the_numbers(
    environment_of: EnvironmentOf, endpoint: str, adapter: str, said: str
) -> None:
    with pytest.raises(ProblemsError) as caught:
        environment_of(decision(endpoint, adapter))
    (problem,) = caught.value.problems
    assert problem.startswith(said)
    assert problem.endswith("; take a larger type or a smaller model, or keep less context")


def test_every_type_of_a_pool_must_hold_it(environment_of: EnvironmentOf) -> None:
    pool = f'instance_pool = ["ml.g6e.xlarge", "ml.g4dn.xlarge"]\n{AMI}'
    with pytest.raises(ProblemsError) as caught:
        environment_of(decision(pool, "context_tokens = 65536\nstreams = 8"))
    (problem,) = caught.value.problems
    assert problem.startswith("ml.g4dn.xlarge has")
    assert environment_of(decision(pool, "context_tokens = 8192\nstreams = 8")).accelerator == "cuda"


def test_what_stays_in_memory_counts_there_where_only_some_layers_go_to_the_gpu() -> None:
    preset = load_preset("qwen3.5-4b")
    whole, some, none = (
        decision_need(preset, Settings.from_env({"SEMIF_GPU_LAYERS": layers})) for layers in ("-1", "20", "0")
    )
    assert whole.host_bytes == some.host_bytes < none.host_bytes
    assert none.gpu_bytes == 0
    # 131 GiB fit into 192 + 89 GiB of ml.g6.12xlarge together, and not into its GPUs alone
    huge = preset.model_copy(update={"context_bytes_per_token": 8 << 20})
    partial, full = (
        decision_need(huge, Settings.from_env({"SEMIF_GPU_LAYERS": layers})) for layers in ("20", "-1")
    )
    assert not list(memory_problems(partial, ["ml.g6.12xlarge"]))
    assert list(memory_problems(full, ["ml.g6.12xlarge"]))
    (problem,) = memory_problems(partial, ["ml.g6.xlarge"])
    assert "of memory and GPU memory" in problem


def test_each_mode_of_the_adapter_counts_what_it_keeps() -> None:
    preset = load_preset("qwen3.5-4b")

    def need(mode: str, tokens: int = 4096, **variables: str) -> MemoryNeed:
        told = {"SEMIF_MODE": mode, "SEMIF_STREAMS": "6", "SEMIF_CONTEXT_TOKENS": str(tokens), **variables}
        return decision_need(preset, Settings.from_env(told))

    assert need("invariant") == need("auto")
    assert need("batched") == replace(need("auto", SEMIF_GPU_LAYERS="-1"), on_gpu=False, all_layers=False)
    joined, invariant = need("joined"), need("invariant")
    assert (joined.context_tokens, invariant.context_tokens) == (4096 + JOINED_ROOM_TOKENS, 6 * 4096)
    a_token, recurrent = preset.context_bytes_per_token, preset.recurrent_bytes
    assert a_token is not None

    def states(count: int, tokens: int) -> int:
        return count * (tokens * a_token + recurrent)

    assert need("batched").saved_prompts == 0
    assert joined.saved_prompts == need("invariant", 1024).saved_prompts == MAX_STATE_BYTES
    assert need("joined", 65_536).saved_prompts == states(2, 65_536) > MAX_STATE_BYTES
    # A hybrid model goes back to saved states alone: it has as many as streams.
    assert invariant.saved_prompts == invariant.context == states(6, 4096) > MAX_STATE_BYTES
    # One that can forget a tail has its streams besides.
    preset = preset.model_copy(update={"recurrent_bytes": 0})
    assert need("invariant", 65_536).saved_prompts == MAX_STATE_BYTES


def test_a_hybrid_model_has_a_recurrent_state_for_each_prompt() -> None:
    """As the adapter counts it: the published shape of Qwen3.5 0.8B is in bench/models/random_models.py."""
    preset, (shape, _) = load_preset("qwen3.5-0.8b"), SHAPES["qwen35-0.8b"]
    assert shape.recurrent is not None
    values = {
        "block_count": shape.layers,
        "full_attention_interval": shape.recurrent.interval,
        "ssm.inner_size": shape.recurrent.state * shape.recurrent.rank,
        "ssm.state_size": shape.recurrent.state,
        "ssm.conv_kernel": 4,
        "ssm.group_count": shape.recurrent.groups,
    }
    metadata = {"general.architecture": "qwen35"} | {f"qwen35.{key}": str(n) for key, n in values.items()}
    assert recurrent_bytes(metadata.get, 1) == preset.recurrent_bytes > 0
    for mode, sequences in (("invariant", 4), ("joined", 17), ("batched", 64)):
        hybrid = decision_need(preset, Settings.from_env({"SEMIF_MODE": mode}))
        plain = decision_need(
            preset.model_copy(update={"recurrent_bytes": 0}), Settings.from_env({"SEMIF_MODE": mode})
        )
        assert hybrid.context is not None
        assert plain.context is not None
        assert hybrid.context - plain.context == sequences * preset.recurrent_bytes


def test_text_counts_context_and_prompt_cache(environment_of: EnvironmentOf) -> None:
    variables = "SM_LLAMA_CPP_CTX_SIZE = {}\nSM_LLAMA_CPP_CACHE_RAM = {}\nSM_LLAMA_CPP_PARALLEL = 2\n"
    small = environment_of(text('instance_type = "ml.c6i.xlarge"', variables.format(8192, 512)))
    need = small.memory_need
    recurrent = load_preset("qwen3.5-4b").recurrent_bytes
    assert (need.context, need.saved_prompts) == (8192 * 32768 + 2 * recurrent, 512 << 20)
    with pytest.raises(ProblemsError, match=r"needed are .* saved prompts 8\.0 GiB"):
        environment_of(text('instance_type = "ml.c6i.xlarge"', variables.format(8192, 8192)))
    with pytest.raises(ProblemsError, match=r"context of 262,144 tokens 8\.1 GiB"):
        environment_of(text('instance_type = "ml.c6i.xlarge"', variables.format(262_144, 512)))


def test_a_context_that_the_preset_does_not_tell_is_left_out_and_said() -> None:
    silent = load_preset("qwen3.5-4b").model_copy(update={"context_bytes_per_token": None})
    need = decision_need(silent, Settings.from_env({}))
    assert need.context is None
    assert need.host_bytes == need.weights + need.saved_prompts + need.overhead
    (warning,) = memory_warnings(need)
    assert warning.startswith("the memory of the context is not counted: the preset has no context_bytes")


@pytest.mark.parametrize(
    ("size", "download", "startup"),
    [(1, 360, 360), (98_362_432, 360, 360), (3_013_027_808, 960, 660), (20_000_000_000, 3600, 2340)],
)
def test_timeouts_are_scaled_from_the_models_bytes(size: int, download: int, startup: int) -> None:
    assert (scaled_download_seconds(size), scaled_startup_seconds(size)) == (download, startup)


@given(size=st.integers(1, 1 << 40), more=st.integers(0, 1 << 40))
def test_scaled_timeouts_stay_within_sagemakers_bounds_and_grow(size: int, more: int) -> None:
    for scaled in (scaled_download_seconds, scaled_startup_seconds):
        assert 60 <= scaled(size) <= scaled(size + more) <= 3600


def test_an_explicit_timeout_wins(environment_of: EnvironmentOf) -> None:
    one = 'instance_type = "ml.c6i.2xlarge"'
    scaled = environment_of(decision(one))
    assert (scaled.model_download_timeout_seconds, scaled.startup_timeout_seconds) == (960, 660)
    own = environment_of(decision(f"{one}\nstartup_timeout_seconds = 61"))
    assert (own.model_download_timeout_seconds, own.startup_timeout_seconds) == (960, 61)


def test_the_shipped_environments_have_room() -> None:
    for name in environment_names():
        environment = load_environment(name)
        assert not list(memory_problems(environment.memory_need, environment.endpoint.instance_types))
        assert not environment.warnings
