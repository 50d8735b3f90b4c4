"""Writes GGUFs with random weights: the tensors and metadata of Qwen3, Gemma 3 and the hybrid Qwen3.5.

What such a model says means nothing; how long it takes, and whether the same question gets the same numbers,
is as with trained weights of that shape. The tests use tiny ones, the benchmark real sizes.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol

import gguf
import numpy as np
import numpy.typing as npt

CHATML = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
_CONTROL_TOKENS = ("<s>", "<|endoftext|>", "<|im_start|>", "<|im_end|>")
_USER_DEFINED_TOKENS = ("<think>", "</think>")


@dataclass(frozen=True)
class Recurrent:
    """The linear-attention layers of a hybrid model; every `interval`-th layer has full attention instead."""

    state: int
    rank: int
    groups: int
    interval: int
    rope_dimensions: int
    rope_sections: tuple[int, int, int, int]


@dataclass(frozen=True)
class Shape:
    """The sizes of a model. `architecture` is llama.cpp's name: qwen3, gemma3 or qwen35."""

    architecture: str
    layers: int
    width: int
    feed_forward: int
    heads: int
    kv_heads: int
    head_width: int
    context: int
    rope_base: float
    ties_embeddings: bool
    window: int | None = None
    """Tokens that a layer with sliding-window attention sees."""
    recurrent: Recurrent | None = None


@dataclass(frozen=True)
class Vocabulary:
    """A vocabulary as GGUF metadata spells it: byte-level BPE, or SentencePiece, which has no `pre`."""

    pre: str | None
    tokens: list[str]
    types: list[int]
    merges: list[str]
    bos: int
    eos: int

    def padded(self, size: int) -> "Vocabulary":
        """With tokens that no text makes, up to `size`: a wide output layer costs time."""
        missing = size - len(self.tokens)
        return Vocabulary(
            self.pre,
            self.tokens + [f"unused-{number}" for number in range(missing)],
            self.types + [int(gguf.TokenType.UNUSED)] * missing,
            self.merges,
            self.bos,
            self.eos,
        )

    def with_control(self, *tokens: str) -> "Vocabulary":
        """With these control tokens besides."""
        return Vocabulary(
            self.pre,
            [*self.tokens, *tokens],
            [*self.types, *[int(gguf.TokenType.CONTROL)] * len(tokens)],
            self.merges,
            self.bos,
            self.eos,
        )


def byte_vocabulary() -> Vocabulary:
    """One token for each byte, ChatML's control tokens and a pair of user-defined ones."""
    symbols = [symbol for _, symbol in sorted(_byte_symbols().items())]
    tokens = [*symbols, *_CONTROL_TOKENS, *_USER_DEFINED_TOKENS]
    types = (
        [gguf.TokenType.NORMAL] * len(symbols)
        + [gguf.TokenType.CONTROL] * len(_CONTROL_TOKENS)
        + [gguf.TokenType.USER_DEFINED] * len(_USER_DEFINED_TOKENS)
    )
    # llama.cpp wants a merge; this one's product is no token, so it is never applied.
    merges = [f"{symbols[ord('q')]} {symbols[ord('z')]}"]
    return Vocabulary(
        "qwen2", tokens, [int(t) for t in types], merges, tokens.index("<s>"), tokens.index("<|im_end|>")
    )


def sentencepiece_vocabulary(*, byte_tokens: bool) -> Vocabulary:
    """One token for each printable ASCII character, and the word-start mark; spaces are put before words.

    Without `byte_tokens` it has nothing for any other character.
    """
    control = ("<unk>", "<s>", "</s>", *_CONTROL_TOKENS[1:])
    raw = [f"<0x{byte:02X}>" for byte in range(256)] if byte_tokens else []
    characters = ["\u2581", *map(chr, range(33, 127)), "\u2581yes", "\u2581no"]
    types = (
        [gguf.TokenType.UNKNOWN]
        + [gguf.TokenType.CONTROL] * (len(control) - 1)
        + [gguf.TokenType.BYTE] * len(raw)
        + [gguf.TokenType.NORMAL] * len(characters)
    )
    return Vocabulary(None, [*control, *raw, *characters], [int(t) for t in types], [], 1, 2)


def _byte_symbols() -> dict[int, str]:
    """One printable character for each byte, as byte-level BPE vocabularies spell them."""
    printable = {*range(33, 127), *range(161, 173), *range(174, 256)}
    spare = count(256)
    return {byte: chr(byte if byte in printable else next(spare)) for byte in range(256)}


class Matrices(Protocol):
    """Where the matrices come from."""

    file_type: int
    """GGUF's `general.file_type`."""

    def matrix(self, name: str, rows: int, columns: int) -> tuple[npt.NDArray[Any], Any]:
        """The data of tensor `name` and its ggml type (None where the data's own type says it)."""
        ...


def write_model(
    path: Path,
    shape: Shape,
    vocabulary: Vocabulary,
    matrices: Matrices,
    *,
    name: str,
    template: str | None = CHATML,
    add_bos: bool = False,
    split_tensors: int = 0,
    metadata: Sequence[tuple[str, str | int | float | bool | None]] = (),
    head: Mapping[str, npt.NDArray[np.float32]] = MappingProxyType({}),
) -> None:
    """Write a model to `path`; with `split_tensors` in parts of so many tensors, named after `path`.

    `metadata` takes the place of what the model has under these keys; None leaves a key out. `head` are
    tensors besides those of the shape.
    """
    writer = gguf.GGUFWriter(path, shape.architecture, split_max_tensors=split_tensors)
    writer.add_name(name)
    writer.add_file_type(matrices.file_type)
    _add_shape(writer, shape)
    writer.add_token_list(vocabulary.tokens)
    writer.add_token_types(vocabulary.types)
    if vocabulary.pre is None:
        writer.add_tokenizer_model("llama")
        writer.add_token_scores([-float(index) for index in range(len(vocabulary.tokens))])
        writer.add_add_space_prefix(True)
    else:
        writer.add_tokenizer_model("gpt2")
        writer.add_tokenizer_pre(vocabulary.pre)
        writer.add_token_merges(vocabulary.merges)
    writer.add_bos_token_id(vocabulary.bos)
    writer.add_eos_token_id(vocabulary.eos)
    writer.add_add_bos_token(add_bos)
    if template is not None:
        writer.add_chat_template(template)
    for key, value in metadata:
        writer.kv_data[0].pop(key, None)
        if value is not None:
            _add[type(value)](writer, key, value)
    for tensor, data, kind in _tensors(shape, len(vocabulary.tokens), matrices):
        writer.add_tensor(tensor, data, raw_dtype=kind)
    for tensor, values in head.items():
        writer.add_tensor(tensor, values)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


_add: dict[type, Callable[..., None]] = {
    bool: gguf.GGUFWriter.add_bool,
    int: gguf.GGUFWriter.add_uint32,
    float: gguf.GGUFWriter.add_float32,
    str: gguf.GGUFWriter.add_string,
}


def _add_shape(writer: Any, shape: Shape) -> None:
    writer.add_context_length(shape.context)
    writer.add_block_count(shape.layers)
    writer.add_embedding_length(shape.width)
    writer.add_feed_forward_length(shape.feed_forward)
    writer.add_head_count(shape.heads)
    writer.add_head_count_kv(shape.kv_heads)
    writer.add_key_length(shape.head_width)
    writer.add_value_length(shape.head_width)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_rope_freq_base(shape.rope_base)
    if shape.window is not None:
        writer.add_sliding_window(shape.window)
    if shape.recurrent is not None:
        linear = shape.recurrent
        writer.add_ssm_conv_kernel(4)
        writer.add_ssm_inner_size(linear.state * linear.rank)
        writer.add_ssm_state_size(linear.state)
        writer.add_ssm_time_step_rank(linear.rank)
        writer.add_ssm_group_count(linear.groups)
        writer.add_uint32(f"{shape.architecture}.full_attention_interval", linear.interval)
        writer.add_rope_dimension_count(linear.rope_dimensions)
        writer.add_array(f"{shape.architecture}.rope.dimension_sections", list(linear.rope_sections))


def _tensors(shape: Shape, vocabulary: int, matrices: Matrices) -> Iterator[tuple[str, Any, Any]]:
    """Name, data and ggml type of every tensor."""
    width = shape.width

    def matrix(name: str, rows: int, columns: int) -> tuple[str, Any, Any]:
        return (name, *matrices.matrix(name, rows, columns))

    def ones(name: str, size: int, scale: float = 1.0) -> tuple[str, Any, Any]:
        return name, np.full(size, scale, np.float32), None

    yield matrix("token_embd.weight", vocabulary, width)
    yield ones("output_norm.weight", width)
    if not shape.ties_embeddings:
        yield matrix("output.weight", vocabulary, width)
    for layer in range(shape.layers):
        block = f"blk.{layer}."
        yield ones(block + "attn_norm.weight", width)
        yield ones(block + ("post_attention_norm.weight" if shape.recurrent else "ffn_norm.weight"), width)
        linear = shape.recurrent
        if linear is not None and (layer + 1) % linear.interval:
            inner = linear.state * linear.rank
            channels = 2 * linear.state * linear.groups + inner
            yield matrix(block + "attn_qkv.weight", channels, width)
            yield matrix(block + "attn_gate.weight", inner, width)
            yield matrix(block + "ssm_conv1d.weight", channels, 4)
            yield block + "ssm_dt.bias", np.zeros(linear.rank, np.float32), None
            yield block + "ssm_a", -np.linspace(0.02, 1, linear.rank, dtype=np.float32), None
            yield matrix(block + "ssm_beta.weight", linear.rank, width)
            yield matrix(block + "ssm_alpha.weight", linear.rank, width)
            yield ones(block + "ssm_norm.weight", linear.state)
            yield matrix(block + "ssm_out.weight", width, inner)
        else:
            gated = 2 if linear else 1  # the hybrid's queries carry their gates
            yield matrix(block + "attn_q.weight", shape.heads * shape.head_width * gated, width)
            yield matrix(block + "attn_k.weight", shape.kv_heads * shape.head_width, width)
            yield matrix(block + "attn_v.weight", shape.kv_heads * shape.head_width, width)
            yield matrix(block + "attn_output.weight", width, shape.heads * shape.head_width)
            # Untrained keys and queries of full length would leave each token looking at one other alone.
            yield ones(block + "attn_q_norm.weight", shape.head_width, 0.3)
            yield ones(block + "attn_k_norm.weight", shape.head_width)
        if shape.window is not None:
            yield ones(block + "post_attention_norm.weight", width)
            yield ones(block + "post_ffw_norm.weight", width)
        yield matrix(block + "ffn_gate.weight", shape.feed_forward, width)
        yield matrix(block + "ffn_up.weight", shape.feed_forward, width)
        yield matrix(block + "ffn_down.weight", width, shape.feed_forward)
