"""A tiny encoder with Laya's head: random weights, llama.cpp's architecture modern-bert.

Tensors and keys as chynggi/gigatoken-llama.cpp writes them (conversion/bert.py, 3ddb88f, read 2026-11-30).
"""

from collections.abc import Iterator
from pathlib import Path

import gguf
import numpy as np
import numpy.typing as npt

from bench.models.random_gguf import byte_vocabulary

_ARCHITECTURE = "modern-bert"
_MARKS = ("[CLS]", "[SEP]", "[MASK]")
_KINDS = 3  # of questions, with an output each
_WIDTH, _FEED_FORWARD, _HEADS, _ENCODER, _DECISION = 64, 96, 2, 2, 1
MOST_HEAD_TOKENS = 192
TEMPLATE = (
    "[CLS]{{ type }} question: {{ instructions if instructions is string else instructions | tojson }}[SEP]"
    "{% for o in options %}[MASK] {{ o.key }}{% if o.description %}: "
    "{{ o.description if o.description is string else o.description | tojson }}{% endif %}{% endfor %}[SEP]"
    "{{ state if state is string else state | tojson }}[SEP]"
)
TEMPERATURES = {"choice": 1.5, "choice.3_5": 1.25, "noul": 0.75, "score.2": 2.0}

Tensors = Iterator[tuple[str, npt.NDArray[np.float32]]]


def write_tiny_laya(path: Path) -> None:
    """Two encoder blocks and one of the head's, over bytes."""
    vocabulary = byte_vocabulary().with_control(*_MARKS)
    cls, separator, mask = (vocabulary.tokens.index(mark) for mark in _MARKS)
    writer = gguf.GGUFWriter(path, _ARCHITECTURE)
    writer.add_name("tiny-laya")
    writer.add_file_type(0)
    writer.add_context_length(4096)
    writer.add_block_count(_ENCODER + _DECISION)
    writer.add_embedding_length(_WIDTH)
    writer.add_head_count(_HEADS)
    writer.add_layer_norm_eps(1e-5)
    writer.add_feed_forward_length([_FEED_FORWARD] * _ENCODER + [4 * _WIDTH] * _DECISION)
    writer.add_causal_attention(False)
    writer.add_rope_freq_base(10_000.0)
    writer.add_vocab_size(len(vocabulary.tokens))
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(str(vocabulary.pre))
    writer.add_token_list(vocabulary.tokens)
    writer.add_token_types(vocabulary.types)
    writer.add_token_merges(vocabulary.merges)
    writer.add_bos_token_id(cls)
    writer.add_eos_token_id(separator)
    writer.add_sep_token_id(separator)
    writer.add_mask_token_id(mask)
    writer.add_uint32("tokenizer.ggml.cls_token_id", cls)
    writer.add_token_type_count(_KINDS)
    writer.add_classifier_output_labels(["choice", "score", "noul"])
    writer.add_string("tokenizer.chat_template.systemone", TEMPLATE)
    writer.add_string(f"{_ARCHITECTURE}.decision.type", "laya")
    writer.add_uint32(f"{_ARCHITECTURE}.decision.block_count", _DECISION)
    writer.add_uint32(f"{_ARCHITECTURE}.decision.max_head_tokens", MOST_HEAD_TOKENS)
    for name, value in TEMPERATURES.items():
        writer.add_float32(f"{_ARCHITECTURE}.decision.temperature.{name}", value)
    for name, values in _tensors(len(vocabulary.tokens)):
        writer.add_tensor(name, values)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _tensors(tokens: int) -> Tensors:
    random = np.random.default_rng(2)

    def matrix(name: str, rows: int, columns: int) -> Tensors:
        yield f"{name}.weight", random.standard_normal((rows, columns), dtype=np.float32) * np.float32(0.15)

    def norm(name: str) -> Tensors:
        yield f"{name}.weight", 1 + random.standard_normal(_WIDTH, dtype=np.float32) * np.float32(0.02)

    def bias(name: str, size: int) -> Tensors:
        yield f"{name}.bias", random.standard_normal(size, dtype=np.float32) * np.float32(0.05)

    yield from matrix("token_embd", tokens, _WIDTH)
    yield from norm("token_embd_norm")
    yield from norm("output_norm")
    for block in (f"blk.{index}." for index in range(_ENCODER)):
        if block != "blk.0.":
            yield from norm(f"{block}attn_norm")
        yield from matrix(f"{block}attn_qkv", 3 * _WIDTH, _WIDTH)
        yield from matrix(f"{block}attn_output", _WIDTH, _WIDTH)
        yield from norm(f"{block}ffn_norm")
        yield from matrix(f"{block}ffn_up", 2 * _FEED_FORWARD, _WIDTH)
        yield from matrix(f"{block}ffn_down", _WIDTH, _FEED_FORWARD)
    for block in (f"blk.{index}." for index in range(_ENCODER, _ENCODER + _DECISION)):
        for name, rows, columns in (
            ("attn_qkv", 3 * _WIDTH, _WIDTH),
            ("attn_output", _WIDTH, _WIDTH),
            ("ffn_up", 4 * _WIDTH, _WIDTH),
            ("ffn_down", _WIDTH, 4 * _WIDTH),
        ):
            yield from matrix(block + name, rows, columns)
            yield from bias(block + name, rows)
        for name in ("attn_norm", "ffn_norm"):
            yield from norm(block + name)
            yield from bias(block + name, _WIDTH)
    yield from matrix("token_types", _KINDS, _WIDTH)
    yield from matrix("cls", _WIDTH, _WIDTH)
    yield from bias("cls", _WIDTH)
    yield from norm("cls.norm")
    yield from bias("cls.norm", _WIDTH)
    yield from matrix("cls.output", _KINDS, _WIDTH)
    yield from bias("cls.output", _KINDS)
