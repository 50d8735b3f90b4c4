"""What a model must be to answer decisions: a causal language model, or one with a head, by its own metadata.

Asked where a model is packed and again where it is loaded: what is served need not have been packed. Each
rule stands for a file that llama.cpp loads and that then answers nonsense with status 200 or aborts.
"""

import math
from collections.abc import Iterator

from semif_adapter.archive.decision_head import ENCODER_HEADS, Metadata, head_problems

ENCODERS = frozenset(
    (
        "bert", "eurobert", "gemma-embedding", "gemma-embedding2", "jina-bert-v2", "jina-bert-v3",
        "modern-bert", "neo-bert", "nomic-bert", "nomic-bert-moe", "t5encoder", "wavtokenizer-dec",
    )
)  # fmt: skip
ENCODER_DECODERS = frozenset(("t5",))
DIFFUSION = frozenset(("dream", "llada", "llada-moe", "rnd1"))
"""Architectures of llama.cpp (src/llama-arch.cpp, read in b11549) that predict no next token."""

_POOLING = {"1": "mean", "2": "cls", "3": "last", "4": "rank"}  # enum llama_pooling_type
_NO_TOKENIZER = ("none", "no_vocab")
_EPSILONS = ("attention.layer_norm_rms_epsilon", "attention.layer_norm_epsilon")


def reasons_against(metadata: Metadata) -> Iterator[str]:
    """Why the model with this `metadata` cannot answer decisions: `it is …`, `its … is …`, one by one."""
    architecture = metadata("general.architecture") or ""

    def own(key: str) -> str | None:
        return metadata(f"{architecture}.{key}")

    yield from head_problems(metadata)
    yield from _not_causal(architecture, own)
    yield from _out_of_range(architecture, own)
    if (tokenizer := metadata("tokenizer.ggml.model")) in _NO_TOKENIZER:
        yield f"it has no tokenizer (tokenizer.ggml.model is {tokenizer!r})"


def _not_causal(architecture: str, own: Metadata) -> Iterator[str]:
    pooling = own("pooling_type")
    if architecture in ENCODER_DECODERS:
        yield f"it is an encoder-decoder ({architecture}), which reads no prompt to its end"
    elif architecture in DIFFUSION:
        yield f"it is a diffusion model ({architecture}), which predicts no next token"
    elif own("decision.type") in ENCODER_HEADS:
        return
    elif architecture in ENCODERS or own("attention.causal") == "false":
        yield f"it is an encoder ({architecture}, attention.causal = false): it predicts no next token"
    elif pooling not in (None, "0"):
        kind = "a reranker" if pooling == "4" else "an embedding model"
        name = _POOLING.get(pooling, pooling)
        yield f"it is {kind} ({architecture}.pooling_type is {name}), whose logits answer nothing"


def _out_of_range(architecture: str, own: Metadata) -> Iterator[str]:
    """Values at which llama.cpp aborts instead of refusing."""
    if (blocks := own("block_count")) is not None and _number(blocks) < 1:
        yield f"its {architecture}.block_count is {blocks}, allowed is 1 or more"
    for key in _EPSILONS:
        value = own(key)
        if value is not None and not 0 <= _number(value) < math.inf:
            yield f"its {architecture}.{key} is {value}, allowed are finite numbers from 0 on"
    rope, head = own("rope.dimension_count"), own("attention.key_length")
    if rope is not None and head is not None and _number(rope) > _number(head):
        yield f"its {architecture}.rope.dimension_count is {rope}, allowed is up to its key_length, {head}"


def _number(value: str) -> float:
    """`value` as a number; NaN where it is none, which is below and above nothing."""
    try:
        return float(value)
    except ValueError:
        return math.nan
