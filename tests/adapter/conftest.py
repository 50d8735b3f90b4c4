"""Tiny models with random weights and real shapes, and engines on them: real libllama in milliseconds."""

import importlib.util
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import numpy.typing as npt
import pytest

from semif_adapter.engine import Engine
from semif_adapter.libllama import Library, open_library
from semif_adapter.settings import Settings

CHATML = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
CONTROL_TOKENS = ("<s>", "<|endoftext|>", "<|im_start|>", "<|im_end|>")
USER_DEFINED_TOKENS = ("<think>", "</think>")

LAYERS, WIDTH, FEED_FORWARD, HEADS, KV_HEADS, HEAD_WIDTH = 2, 64, 128, 4, 2, 32
WINDOW = 24  # tokens that an attention layer with a sliding window sees
STATE, RANK, GROUPS = 16, 4, 2  # of the recurrent layers

Weights = npt.NDArray[np.float32]


def write_tiny_gguf(
    path: Path,
    *,
    architecture: str = "qwen3",
    template: str | None = CHATML,
    add_bos: bool = False,
    spoiled: str | None = None,
    split_tensors: int = 0,
) -> None:
    """A random F32 model with a byte vocabulary, 2 layers: `qwen3` (attention), `gemma3` (sliding
    window), `qwen35` (hybrid).

    `spoiled` is a character whose embedding is NaN, so that every prompt holding it has NaN logits. With
    `split_tensors` the model becomes parts of so many tensors, named after `path`.
    """
    symbols = [symbol for _, symbol in sorted(_byte_symbols().items())]
    tokens = [*symbols, *CONTROL_TOKENS, *USER_DEFINED_TOKENS]
    writer = gguf.GGUFWriter(path, architecture, split_max_tensors=split_tensors)
    writer.add_name(f"tiny-{architecture}")
    writer.add_file_type(0)
    writer.add_context_length(4096)
    writer.add_block_count(LAYERS)
    writer.add_embedding_length(WIDTH)
    writer.add_feed_forward_length(FEED_FORWARD)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KV_HEADS)
    writer.add_key_length(HEAD_WIDTH)
    writer.add_value_length(HEAD_WIDTH)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_rope_freq_base(1e6)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("qwen2")
    writer.add_token_list(tokens)
    writer.add_token_types(
        [gguf.TokenType.NORMAL] * len(symbols)
        + [gguf.TokenType.CONTROL] * len(CONTROL_TOKENS)
        + [gguf.TokenType.USER_DEFINED] * len(USER_DEFINED_TOKENS)
    )
    writer.add_token_merges(
        [f"{symbols[ord('q')]} {symbols[ord('z')]}"]
    )  # its product is no token: never applied
    writer.add_bos_token_id(tokens.index("<s>"))
    writer.add_eos_token_id(tokens.index("<|im_end|>"))
    writer.add_add_bos_token(add_bos)
    if template is not None:
        writer.add_chat_template(template)
    if architecture == "gemma3":
        writer.add_sliding_window(WINDOW)
    if architecture == "qwen35":
        writer.add_ssm_conv_kernel(4)
        writer.add_ssm_inner_size(STATE * RANK)
        writer.add_ssm_state_size(STATE)
        writer.add_ssm_time_step_rank(RANK)
        writer.add_ssm_group_count(GROUPS)
        writer.add_uint32("qwen35.full_attention_interval", LAYERS)
        writer.add_rope_dimension_count(16)
        writer.add_array("qwen35.rope.dimension_sections", [3, 3, 2, 0])
    for name, weights in _tensors(architecture, len(tokens)):
        if spoiled is not None and name == "token_embd.weight":
            weights[ord(spoiled)] = np.nan
        writer.add_tensor(name, weights)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _byte_symbols() -> dict[int, str]:
    """One printable character for each byte, as byte-level BPE vocabularies spell them."""
    printable = {*range(33, 127), *range(161, 173), *range(174, 256)}
    spare = count(256)
    return {byte: chr(byte if byte in printable else next(spare)) for byte in range(256)}


def _tensors(architecture: str, vocabulary: int) -> Iterator[tuple[str, Weights]]:
    random = np.random.default_rng(0)

    def matrix(*shape: int) -> Weights:
        return random.standard_normal(shape, dtype=np.float32) * np.float32(0.1)

    def ones(size: int) -> Weights:
        return np.ones(size, np.float32)

    hybrid, sliding = architecture == "qwen35", architecture == "gemma3"
    yield "token_embd.weight", matrix(vocabulary, WIDTH)
    yield "output_norm.weight", ones(WIDTH)
    yield "output.weight", matrix(vocabulary, WIDTH) * np.float32(0.4)
    for layer in range(LAYERS):
        block = f"blk.{layer}."
        yield block + "attn_norm.weight", ones(WIDTH)
        yield block + ("post_attention_norm.weight" if hybrid else "ffn_norm.weight"), ones(WIDTH)
        if hybrid and (layer + 1) % LAYERS:
            inner, channels = STATE * RANK, 2 * STATE * GROUPS + STATE * RANK
            yield block + "attn_qkv.weight", matrix(channels, WIDTH)
            yield block + "attn_gate.weight", matrix(inner, WIDTH)
            yield block + "ssm_conv1d.weight", matrix(channels, 4)
            yield block + "ssm_dt.bias", np.zeros(RANK, np.float32)
            yield block + "ssm_a", -np.linspace(0.02, 1, RANK, dtype=np.float32)
            yield block + "ssm_beta.weight", matrix(RANK, WIDTH)
            yield block + "ssm_alpha.weight", matrix(RANK, WIDTH)
            yield block + "ssm_norm.weight", ones(STATE)
            yield block + "ssm_out.weight", matrix(WIDTH, inner)
        else:
            gated = 2 if hybrid else 1  # the hybrid's queries carry their gates
            yield block + "attn_q.weight", matrix(HEADS * HEAD_WIDTH * gated, WIDTH)
            yield block + "attn_k.weight", matrix(KV_HEADS * HEAD_WIDTH, WIDTH)
            yield block + "attn_v.weight", matrix(KV_HEADS * HEAD_WIDTH, WIDTH)
            yield block + "attn_output.weight", matrix(WIDTH, HEADS * HEAD_WIDTH)
            yield block + "attn_q_norm.weight", ones(HEAD_WIDTH) * np.float32(0.3)
            yield block + "attn_k_norm.weight", ones(HEAD_WIDTH)
        if sliding:
            yield block + "post_attention_norm.weight", ones(WIDTH)
            yield block + "post_ffw_norm.weight", ones(WIDTH)
        yield block + "ffn_gate.weight", matrix(FEED_FORWARD, WIDTH)
        yield block + "ffn_up.weight", matrix(FEED_FORWARD, WIDTH)
        yield block + "ffn_down.weight", matrix(WIDTH, FEED_FORWARD)


@pytest.fixture(scope="session")
def library_dir() -> Path:
    """The folder of a prebuilt libllama; its Python module is not imported."""
    spec = importlib.util.find_spec("xllamacpp")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent


@pytest.fixture(scope="session")
def library(library_dir: Path) -> Library:
    """libllama, opened."""
    return open_library(library_dir)


@pytest.fixture(scope="session")
def tiny_gguf(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Writes a tiny GGUF (keywords of `write_tiny_gguf`), each kind once."""
    folder = tmp_path_factory.mktemp("gguf")
    numbers = count()

    @cache
    def write(**kind: Any) -> Path:
        path = folder / f"tiny-{next(numbers)}.gguf"
        write_tiny_gguf(path, **kind)
        return path if path.exists() else min(folder.glob(f"{path.stem}-*.gguf"))

    return write


@pytest.fixture(scope="session")
def load_engine(library_dir: Path) -> Iterator[Callable[..., Engine]]:
    """Loads an engine on a GGUF, each kind once; keywords are settings. One thread, and a short context."""
    with ExitStack() as stack:

        @cache
        def load(path: Path, **settings: Any) -> Engine:
            values = {
                "gguf": path,
                "library_dir": library_dir,
                "threads": 1,
                "context_tokens": 512,
                **settings,
            }
            engine = Engine.load(Settings(**values))
            stack.callback(engine.close)
            return engine

        yield load
