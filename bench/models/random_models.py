"""Random weights in published models' shapes: `python -m bench.models.random_models NAME [--output DIR]`.

Qwen3 0.6B (attention) and Qwen3.5 0.8B (hybrid: three of four layers are recurrent), quantized with
llama.cpp's own functions in the mix of Q4_K and Q6_K that `llama-quantize` calls Q4_K_M. The tokenizer is the
embedded preset's, padded to the real vocabulary's size, so that a text has about as many tokens as with a
trained model. Deterministic; kept in the user's cache folder.
"""

import argparse
import ctypes
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import numpy.typing as npt

from bench.models.random_gguf import Recurrent, Shape, Vocabulary, write_model
from semif.models.presets import load_preset
from semif.models.sources.cache import cache_root
from semif.models.sources.fetch import fetch
from semif.serve.local_adapter import library_folder

REVISION = 1
"""Raised with every change to what is written, as part of the file's name."""

SHAPES: dict[str, tuple[Shape, int]] = {
    "qwen3-0.6b": (
        Shape("qwen3", 28, 1024, 3072, 16, 8, 128, context=40_960, rope_base=1e6, ties_embeddings=True),
        151_936,
    ),
    "qwen35-0.8b": (
        Shape(
            "qwen35",
            24,
            1024,
            3584,
            8,
            2,
            256,
            context=262_144,
            rope_base=1e7,
            ties_embeddings=True,
            recurrent=Recurrent(
                state=128, rank=16, groups=16, interval=4, rope_dimensions=64, rope_sections=(11, 11, 10, 0)
            ),
        ),
        248_320,
    ),
}
"""Shape and size of the vocabulary, as the configurations of Qwen/Qwen3-0.6B and Qwen/Qwen3.5-0.8B say."""

_POOL_VALUES = 1 << 22
_DEVIATION = 0.02
_BLOCK_VALUES = 256  # of Q4_K and Q6_K
_Q4_K, _Q6_K = gguf.GGMLQuantizationType.Q4_K, gguf.GGMLQuantizationType.Q6_K


class QuantizedPool:
    """Matrices cut at random places out of one pool of normal deviates, quantized once: fast."""

    file_type = int(gguf.LlamaFileType.MOSTLY_Q4_K_M)

    def __init__(self, layers: int, seed: int = 0) -> None:
        self._layers = layers
        self._random = np.random.default_rng(seed)
        values = self._random.standard_normal(_POOL_VALUES, dtype=np.float32) * np.float32(_DEVIATION)
        self._pools = {kind: _quantize(values, kind) for kind in (_Q4_K, _Q6_K)}

    def matrix(self, name: str, rows: int, columns: int) -> tuple[npt.NDArray[Any], Any]:
        """Quantized where llama.cpp does that, float32 where it does not."""
        if columns % _BLOCK_VALUES or any(part in name for part in ("ssm_alpha", "ssm_beta", "ssm_conv1d")):
            spread = np.float32(0.3 if "conv1d" in name else _DEVIATION)
            return self._random.standard_normal((rows, columns), dtype=np.float32) * spread, None
        kind = self._kind(name)
        blocks = self._pools[kind]
        wanted = rows * columns // _BLOCK_VALUES
        start = int(self._random.integers(len(blocks)))
        taken = np.take(blocks, np.arange(start, start + wanted), axis=0, mode="wrap")
        return taken.reshape(rows, -1), kind

    def _kind(self, name: str) -> gguf.GGMLQuantizationType:
        """Six bits for the embeddings, and for values and down projections of about half the layers."""
        if name == "token_embd.weight":
            return _Q6_K
        layer = int(name.split(".")[1])
        eighth = self._layers // 8
        favoured = layer < eighth or layer >= 7 * self._layers // 8 or (layer - eighth) % 3 == 2
        return _Q6_K if favoured and ("attn_v" in name or "ffn_down" in name) else _Q4_K


def _quantize(values: npt.NDArray[np.float32], kind: gguf.GGMLQuantizationType) -> npt.NDArray[np.uint8]:
    """`values` as `kind` by llama.cpp's `ggml_quantize_chunk`: uint8 of shape (blocks, bytes of a block)."""
    library = ctypes.CDLL(str(next(library_folder().glob("xllamacpp*.so"))))
    function = library.ggml_quantize_chunk
    function.restype = ctypes.c_size_t
    function.argtypes = [
        ctypes.c_int,
        ctypes.c_void_p,
        ctypes.c_void_p,
        *[ctypes.c_int64] * 3,
        ctypes.c_void_p,
    ]
    values_of_block, bytes_of_block = gguf.GGML_QUANT_SIZES[kind]
    blocks = np.empty((len(values) // values_of_block, bytes_of_block), np.uint8)
    written = function(
        int(kind), values.ctypes.data, blocks.ctypes.data, 0, len(blocks), values_of_block, None
    )
    if written != blocks.nbytes:
        raise RuntimeError(f"llama.cpp wrote {written} bytes of {kind.name}, expected are {blocks.nbytes}")
    return blocks


def borrowed_vocabulary() -> Vocabulary:
    """The embedded preset's tokenizer."""
    reader = gguf.GGUFReader(fetch(load_preset("embedded")))

    def value(key: str) -> Any:
        field = reader.get_field(f"tokenizer.ggml.{key}")
        assert field is not None
        return field.contents()

    return Vocabulary(
        value("pre"),
        value("tokens"),
        value("token_type"),
        value("merges"),
        value("bos_token_id"),
        value("eos_token_id"),
    )


def random_model(name: str, output: Path | None = None) -> Path:
    """The GGUF called `name` in `output` (the user's cache folder), written unless it is there."""
    folder = cache_root() / "random" if output is None else output
    path = folder / f"random-{name}-Q4_K_M-r{REVISION}.gguf"
    if not path.is_file():
        shape, size = SHAPES[name]
        folder.mkdir(parents=True, exist_ok=True)
        partial = path.with_name(path.name + ".partial")
        vocabulary = borrowed_vocabulary().padded(size)
        write_model(partial, shape, vocabulary, QuantizedPool(shape.layers), name=f"random-{name}")
        partial.replace(path)
    return path


def main() -> None:
    """Write a model and say where it is."""
    parser = argparse.ArgumentParser(prog="bench.models.random_models", description=__doc__)
    parser.add_argument("name", choices=sorted(SHAPES))
    parser.add_argument("--output", type=Path, help="folder to write to instead of the user's cache")
    arguments = parser.parse_args()
    print(random_model(arguments.name, arguments.output))


if __name__ == "__main__":
    main()
