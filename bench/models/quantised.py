"""Models in other types of weights: the same matrices in the mixes that `llama-quantize` makes.

The library's own `ggml_quantize_chunk` does the work. The wheel that runs here lacks `llama_model_quantize`,
so the choice of a type for each matrix is written here after `llama_tensor_get_type` of llama.cpp's
`src/llama-quant.cpp` (2026-09), for dense models and without an importance matrix.
"""

import ctypes
import functools
import hashlib
from collections import Counter
from contextlib import redirect_stderr
from io import StringIO
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import numpy.typing as npt
from gguf.scripts.gguf_new_metadata import MetadataDetails, copy_with_new_metadata

from semif.errors import SemifError
from semif.models.sources.cache import cache_root
from semif.serve.local_adapter import library_folder

REVISION = 2
"""Raised with every change to what is written, as part of the file's name."""

Kind = gguf.GGMLQuantizationType

TYPES: dict[str, tuple[gguf.LlamaFileType, Kind]] = {
    "F16": (gguf.LlamaFileType.MOSTLY_F16, Kind.F16),
    "Q8_0": (gguf.LlamaFileType.MOSTLY_Q8_0, Kind.Q8_0),
    "Q6_K": (gguf.LlamaFileType.MOSTLY_Q6_K, Kind.Q6_K),
    "Q5_K_M": (gguf.LlamaFileType.MOSTLY_Q5_K_M, Kind.Q5_K),
    "Q4_K_M": (gguf.LlamaFileType.MOSTLY_Q4_K_M, Kind.Q4_K),
    "Q4_0": (gguf.LlamaFileType.MOSTLY_Q4_0, Kind.Q4_0),
    "IQ4_NL": (gguf.LlamaFileType.MOSTLY_IQ4_NL, Kind.IQ4_NL),
}
"""By the names that `llama-quantize` has for them: GGUF's `general.file_type`, and what most matrices get."""

_FALLBACKS = {Kind.Q4_K: Kind.Q5_0, Kind.Q5_K: Kind.Q5_1, Kind.Q6_K: Kind.Q8_0}
"""What llama.cpp takes where rows are no multiple of 256 values."""
_VALUES = ("attn_v.weight", "attn_qkv.weight")
_DOWN = "ffn_down.weight"


def is_quantised(tensor: str, dimensions: int) -> bool:
    """Whether a type of weights concerns `tensor` at all: norms and small recurrent matrices keep theirs."""
    return dimensions > 1 and not any(part in tensor for part in ("ssm_alpha", "ssm_beta", "ssm_conv1d"))


def matrix_kind(
    type_name: str, tensor: str, columns: int, layers: int, *, is_output: bool, queries: int
) -> Kind:
    """The type of the matrix `tensor` in a model of `type_name`; the embeddings may be the output's too.

    `queries` is how many heads share a key's and a value's.
    """
    wanted = _wanted_kind(type_name, tensor, layers, is_output=is_output, queries=queries)
    for kind in (wanted, _FALLBACKS.get(wanted, wanted)):
        if columns % gguf.GGML_QUANT_SIZES[kind][0] == 0:
            return kind
    return Kind.F16


def _wanted_kind(type_name: str, tensor: str, layers: int, *, is_output: bool, queries: int) -> Kind:
    kind = TYPES[type_name][1]
    if kind in {Kind.F16, Kind.Q8_0}:
        return kind
    if is_output:
        return Kind.Q6_K
    if not tensor.startswith("blk."):
        return kind
    layer, eighth = int(tensor.split(".")[1]), layers // 8
    if type_name in {"Q4_K_M", "Q5_K_M"} and tensor.endswith((*_VALUES, _DOWN)):
        favoured = layer < eighth or layer >= 7 * layers // 8 or (layer - eighth) % 3 == 2
        return Kind.Q6_K if favoured else kind
    favoured = (tensor.endswith(_DOWN) and layer < eighth) or (tensor.endswith(_VALUES) and queries >= 4)
    return Kind.Q5_K if type_name == "IQ4_NL" and favoured else kind


def quantise(values: npt.NDArray[np.float32], kind: Kind) -> npt.NDArray[Any]:
    """`values` of shape (rows, columns) as `kind`: bytes of shape (rows, bytes of a row), or float16."""
    if kind == Kind.F16:
        return values.astype(np.float16)
    rows, columns = values.shape
    in_block, bytes_of_block = gguf.GGML_QUANT_SIZES[kind]
    data = np.empty((rows, columns // in_block * bytes_of_block), np.uint8)
    source = np.ascontiguousarray(values, np.float32)
    written = _chunk_function()(int(kind), source.ctypes.data, data.ctypes.data, 0, rows, columns, None)
    if written != data.nbytes:
        raise RuntimeError(f"llama.cpp wrote {written} bytes of {kind.name}, expected are {data.nbytes}")
    return data


@functools.cache
def _chunk_function() -> Any:
    library = ctypes.CDLL(str(next(library_folder().glob("xllamacpp*.so"))))
    function = library.ggml_quantize_chunk
    function.restype = ctypes.c_size_t
    pointer, size = ctypes.c_void_p, ctypes.c_int64
    function.argtypes = [ctypes.c_int, pointer, pointer, size, size, size, pointer]
    return function


def quantised(source: Path, type_name: str) -> Path:
    """The model of the GGUF `source` with its matrices as `type_name`, kept in the user's cache folder.

    Of a source that is quantized already its rounded values are what is rounded again: the speed is that of
    the type, the answers are worth less. Raises SemifError for a type that is not one of TYPES.
    """
    if type_name not in TYPES:
        raise SemifError(f'no type of weights "{type_name}"; choose one of {", ".join(TYPES)}')
    with source.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    folder = cache_root() / "quantised" / digest[:16]
    path = folder / f"{source.stem}-as-{type_name}-r{REVISION}.gguf"
    if not path.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        partial = path.with_name(path.name + ".partial")
        _write(gguf.GGUFReader(source), partial, type_name)
        partial.replace(path)
    return path


def _write(reader: gguf.GGUFReader, path: Path, type_name: str) -> None:
    architecture = _value(reader, "general.architecture")
    layers = int(_value(reader, f"{architecture}.block_count"))
    heads, shared = (
        np.atleast_1d(_value(reader, f"{architecture}.attention.{name}"))[0]  # of the first layer
        for name in ("head_count", "head_count_kv")
    )
    has_output = any(tensor.name == "output.weight" for tensor in reader.tensors)
    output = "output.weight" if has_output else "token_embd.weight"

    def converted(tensor: gguf.ReaderTensor) -> gguf.ReaderTensor:
        if not is_quantised(tensor.name, len(tensor.shape)):
            return tensor
        kind = matrix_kind(
            type_name,
            tensor.name,
            int(tensor.shape[0]),
            layers,
            is_output=tensor.name == output,
            queries=int(heads // max(shared, 1)),
        )
        data = quantise(gguf.quants.dequantize(tensor.data, tensor.tensor_type), kind)
        return tensor._replace(data=data, tensor_type=kind, n_bytes=data.nbytes)

    reader.tensors[:] = [converted(tensor) for tensor in reader.tensors]
    file_type = MetadataDetails(gguf.GGUFValueType.UINT32, int(TYPES[type_name][0]))
    with redirect_stderr(StringIO()):  # its progress bar
        writer = gguf.GGUFWriter(path, architecture)
        copy_with_new_metadata(reader, writer, {"general.file_type": file_type}, [])


def _value(reader: gguf.GGUFReader, key: str) -> Any:
    field = reader.get_field(key)
    assert field is not None
    return field.contents()


def weight_types(source: Path) -> dict[str, float]:
    """What the matrices of a GGUF really are: the share of all their values by type, the largest first."""
    values: Counter[str] = Counter()
    for tensor in gguf.GGUFReader(source).tensors:
        if len(tensor.shape) > 1:
            values[tensor.tensor_type.name] += int(tensor.n_elements)
    return {name: count / values.total() for name, count in values.most_common()}
