"""Random weights in published models' shapes: `python -m bench.models.random_models NAME [--type Q4_0]`.

Qwen3 0.6B (attention) and Qwen3.5 0.8B (hybrid: three of four layers are recurrent), quantized with
llama.cpp's own functions, in the mix of types that is called Q4_K_M unless another is named. The tokenizer is
the embedded preset's, padded to the real vocabulary's size, so that a text has about as many tokens as with
a trained model. Deterministic; kept in the user's cache folder.
"""

import argparse
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import numpy.typing as npt

from bench.models.quantised import TYPES, is_quantised, matrix_kind, quantise
from bench.models.random_gguf import Recurrent, Shape, Vocabulary, write_model
from semif.models.presets import load_preset
from semif.models.sources.cache import cache_root
from semif.models.sources.fetch import fetch

REVISION = 3
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
_POOL_COLUMNS = 256  # a multiple of every type's block


class QuantizedPool:
    """Matrices cut at random places out of one pool of normal deviates, quantized once a type: fast."""

    def __init__(self, shape: Shape, type_name: str, seed: int = 0) -> None:
        self.file_type = int(TYPES[type_name][0])
        self._layers, self._queries = shape.layers, shape.heads // shape.kv_heads
        self._type_name = type_name
        self._random = np.random.default_rng(seed)
        values = self._random.standard_normal(_POOL_VALUES, dtype=np.float32) * np.float32(_DEVIATION)
        self._values = values.reshape(-1, _POOL_COLUMNS)
        self._pools: dict[gguf.GGMLQuantizationType, npt.NDArray[Any]] = {}

    def matrix(self, name: str, rows: int, columns: int) -> tuple[npt.NDArray[Any], Any]:
        """Quantized where llama.cpp does that, float32 where it does not."""
        if not is_quantised(name, 2):
            spread = np.float32(0.3 if "conv1d" in name else _DEVIATION)
            return self._random.standard_normal((rows, columns), dtype=np.float32) * spread, None
        is_output = name == "token_embd.weight"  # all shapes here tie the two
        kind = matrix_kind(
            self._type_name, name, columns, self._layers, is_output=is_output, queries=self._queries
        )
        if kind not in self._pools:
            self._pools[kind] = quantise(self._values, kind)
        pool = self._pools[kind]
        wanted = rows * columns // _POOL_COLUMNS
        start = int(self._random.integers(len(pool)))
        taken = np.take(pool, np.arange(start, start + wanted), axis=0, mode="wrap")
        return taken.reshape(rows, -1), kind


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


def random_model(name: str, output: Path | None = None, type_name: str = "Q4_K_M") -> Path:
    """The GGUF called `name` in `output` (the user's cache folder), written unless it is there.

    `type_name` is one of `quantised.TYPES`.
    """
    folder = cache_root() / "random" if output is None else output
    path = folder / f"random-{name}-{type_name}-r{REVISION}.gguf"
    if not path.is_file():
        shape, size = SHAPES[name]
        folder.mkdir(parents=True, exist_ok=True)
        partial = path.with_name(path.name + ".partial")
        vocabulary = borrowed_vocabulary().padded(size)
        write_model(partial, shape, vocabulary, QuantizedPool(shape, type_name), name=f"random-{name}")
        partial.replace(path)
    return path


def main() -> None:
    """Write a model and say where it is."""
    parser = argparse.ArgumentParser(prog="bench.models.random_models", description=__doc__)
    parser.add_argument("name", choices=sorted(SHAPES))
    parser.add_argument(
        "--type", choices=TYPES, default="Q4_K_M", help="of the weights (default %(default)s)"
    )
    parser.add_argument("--output", type=Path, help="folder to write to instead of the user's cache")
    arguments = parser.parse_args()
    print(random_model(arguments.name, arguments.output, arguments.type))


if __name__ == "__main__":
    main()
