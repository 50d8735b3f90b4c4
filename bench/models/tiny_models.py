"""Models so small that libllama runs them in milliseconds: random weights, real architectures."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from bench.models.random_gguf import (
    CHATML,
    Recurrent,
    Shape,
    Vocabulary,
    byte_vocabulary,
    sentencepiece_vocabulary,
    write_model,
)

LAYERS, WIDTH = 2, 64
WINDOW = 24  # tokens that an attention layer with a sliding window sees
WIDE_TOKENS = 20_000  # of a vocabulary whose rows of logits are larger than all else of a request

_TINY = Shape("qwen3", LAYERS, WIDTH, 128, 2, 2, 32, context=4096, rope_base=1e6, ties_embeddings=False)
SHAPES = {
    "qwen3": _TINY,
    "gemma3": replace(_TINY, architecture="gemma3", window=WINDOW),
    "qwen35": replace(
        _TINY,
        architecture="qwen35",
        heads=4,  # two share their keys and values
        recurrent=Recurrent(
            state=16, rank=4, groups=2, interval=LAYERS, rope_dimensions=16, rope_sections=(3, 3, 2, 0)
        ),
    ),
}


VOCABULARIES: dict[str, Callable[[], Vocabulary]] = {
    "bytes": byte_vocabulary,
    "wide": lambda: byte_vocabulary().padded(WIDE_TOKENS),
    "sentencepiece": partial(sentencepiece_vocabulary, byte_tokens=True),
    "sentencepiece-without-bytes": partial(sentencepiece_vocabulary, byte_tokens=False),
}


class Plain:
    """F32 matrices; the embedding of the character `spoiled` is NaN."""

    file_type = 0

    def __init__(self, spoiled: str | None = None) -> None:
        self._random = np.random.default_rng(0)
        self._spoiled = spoiled

    def matrix(self, name: str, rows: int, columns: int) -> tuple[npt.NDArray[np.float32], None]:
        spread = np.float32(0.04 if name == "output.weight" else 0.1)
        weights = self._random.standard_normal((rows, columns), dtype=np.float32) * spread
        if self._spoiled is not None and name == "token_embd.weight":
            weights[ord(self._spoiled)] = np.nan
        return weights, None


def write_tiny_gguf(
    path: Path,
    *,
    architecture: str = "qwen3",
    vocabulary: str = "bytes",
    template: str | None = CHATML,
    add_bos: bool = False,
    spoiled: str | None = None,
    split_tensors: int = 0,
    metadata: Sequence[tuple[str, str | int | float | bool | None]] = (),
    head: Mapping[str, npt.NDArray[np.float32]] = MappingProxyType({}),
) -> None:
    """A random F32 model with 2 layers and one of VOCABULARIES: `qwen3` (attention), `gemma3` (sliding
    window), `qwen35` (hybrid).

    `spoiled` is a character whose embedding is NaN, so that every prompt holding it has NaN logits. With
    `split_tensors` the model becomes parts of so many tensors, named after `path`. `metadata` takes the place
    of what the model has under these keys; None leaves a key out. `head` are tensors besides.
    """
    write_model(
        path,
        SHAPES[architecture],
        VOCABULARIES[vocabulary](),
        Plain(spoiled),
        name=f"tiny-{architecture}",
        template=template,
        add_bos=add_bos,
        split_tensors=split_tensors,
        metadata=metadata,
        head=head,
    )
