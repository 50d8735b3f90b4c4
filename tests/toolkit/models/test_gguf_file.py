"""What passes for a model: real GGUFs, whole; everything else is refused by name, whatever its bytes."""

import contextlib
import ctypes
import math
import struct
import tracemalloc
from collections.abc import Callable
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from semif.models.gguf_file import check_gguf
from semif.models.gguf_header import TENSOR_TYPES, NotAModelError

Make = Callable[..., Path]
TYPES_READ_IN = "2026.10.11549"
"""The build of llama.cpp whose enum ggml_type was read for the table."""
per_example = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)


def refused(path: Path) -> str:
    with pytest.raises(NotAModelError) as e:
        check_gguf(path)
    return str(e.value)


def test_the_embedded_model_passes(embedded_gguf: Path) -> None:
    header = check_gguf(embedded_gguf)
    assert header.architecture == "llama"
    # 30 blocks of 9 tensors, the embedding and the output norm.
    assert (header.values["llama.block_count"], header.tensor_count) == (30, 272)


def test_the_sizes_of_tensor_types_are_ggmls() -> None:
    theirs = {int(kind): sizes for kind, sizes in gguf.GGML_QUANT_SIZES.items()}
    # Never stored in files; ggml.c has 36 bytes, the package 40.
    del theirs[int(gguf.GGMLQuantizationType.Q8_1)]
    assert {kind: TENSOR_TYPES[kind] for kind in theirs} == theirs


def test_every_type_that_the_library_computes_is_known() -> None:
    """An update of llama.cpp may bring new types: the table must not age silently."""
    assert version("xllamacpp") == TYPES_READ_IN, "look for new ggml types, then name this build"
    [path] = Path(str(find_spec("xllamacpp").origin)).parent.glob("xllamacpp*.so")  # type: ignore[union-attr]
    ggml = ctypes.CDLL(str(path))
    ggml.ggml_type_size.restype = ctypes.c_size_t
    ggml.ggml_blck_size.restype = ctypes.c_int64
    theirs = {
        kind: (block, ggml.ggml_type_size(kind))
        for kind in range(max(TENSOR_TYPES) + 1)
        if (block := ggml.ggml_blck_size(kind)) > 0  # those that were removed have none
    }
    assert theirs == TENSOR_TYPES


@pytest.mark.parametrize(
    ("name", "head", "what"),
    [
        ("a.gguf", b"<!DOCTYPE html><html>", "a web page"),
        ("a.gguf", b"\n  <html lang='en'>", "a web page"),
        ("a.gguf", b"version https://git-lfs.github.com/spec/v1\noid sha256:aa", "a Git LFS pointer"),
        ("a.gguf", b"Internal Server Error", "text, which begins with 'Internal Server Error'"),
        ("a.gguf", b'{"error": "Repository not found"}', "text, which begins with"),
        ("a.gguf", b"\x00\x05\x16\x07\x00\x02\x00\x00Mac OS X", "a side-car file of macOS"),
        ("._a.gguf", b"GGUF\x03\0\0\0", "a side-car file that macOS leaves"),
        ("a.gguf", b"", "empty"),
        ("a.gguf", b"\x1f\x8b\x08\0\0\0\0\0", "a gzip archive"),
        ("a.gguf", b"PK\x03\x04", "a zip archive"),
        ("a.gguf", b"tjgg\x01\0\0\0", "the format before GGUF"),
        ("a.gguf", struct.pack("<Q", 60) + b'{"a":{"dtype":"F32"}}', "a safetensors file"),
        ("a.gguf", b"\x80\x02ctorch", "begins with the bytes 80 02 63 74"),
    ],
)
def test_other_files_are_named_for_what_they_are(tmp_path: Path, name: str, head: bytes, what: str) -> None:
    path = tmp_path / name
    path.write_bytes(head)
    assert what in refused(path)


def test_no_part_of_a_model_passes_for_the_whole(small_gguf: Make) -> None:
    path = small_gguf()
    whole = path.read_bytes()
    check_gguf(path)
    for length in range(len(whole) - 1, 3, -3):
        path.write_bytes(whole[:length])
        assert "cut off" in refused(path), length


def test_a_truncated_real_model_names_the_tensor(embedded_gguf: Path, tmp_path: Path) -> None:
    cut = tmp_path / "cut.gguf"
    with embedded_gguf.open("rb") as file:
        cut.write_bytes(file.read(8 << 20))
    assert "cut off: tensor " in refused(cut)


@pytest.mark.parametrize(
    ("architecture", "values", "what"),
    [
        ("clip", {}, "a projector"),
        ("llama", {"type": "mmproj"}, "a projector"),
        ("llama", {"type": "adapter"}, "general.type 'adapter'"),
        ("llama", {"split_count": 3}, "one of 3 shards"),
    ],
)
def test_ggufs_that_are_no_language_model(
    small_gguf: Make, architecture: str, values: dict[str, str | int], what: str
) -> None:
    assert what in refused(small_gguf("a.gguf", architecture, **values))


def causal_lm(path: Path, *, tokens: tuple[str, ...] = ("<s>", "a", "b"), **metadata: object) -> Path:
    """A header as a causal language model of llama.cpp has it, but for `metadata` (`__` stands for a dot)."""
    values: dict[str, object] = {
        "general__architecture": "qwen3",
        "qwen3__block_count": 2,
        "qwen3__attention__key_length": 32,
        "qwen3__attention__layer_norm_rms_epsilon": 1e-6,
        "qwen3__rope__dimension_count": 32,
        "tokenizer__ggml__model": "gpt2",
        **metadata,
    }
    writer = gguf.GGUFWriter(path, str(values.pop("general__architecture")))
    for key, value in values.items():
        add = {
            bool: writer.add_bool,
            int: writer.add_uint32,
            float: writer.add_float32,
            str: writer.add_string,
        }
        add[type(value)](key.replace("__", "."), value)
    if tokens:
        writer.add_array("tokenizer.ggml.tokens", list(tokens))
    writer.add_tensor("token_embd.weight", np.ones((3, 32), dtype=np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


@pytest.mark.parametrize(
    ("metadata", "what"),
    [
        ({"general__architecture": "bert"}, "is an encoder (bert"),
        ({"general__architecture": "modern-bert"}, "is an encoder (modern-bert"),
        ({"general__architecture": "t5"}, "is an encoder-decoder (t5)"),
        ({"general__architecture": "dream"}, "is a diffusion model (dream)"),
        ({"qwen3__attention__causal": False}, "is an encoder (qwen3"),
        ({"qwen3__pooling_type": 3}, "an embedding model (qwen3.pooling_type is last)"),
        ({"qwen3__pooling_type": 4}, "a reranker (qwen3.pooling_type is rank)"),
        ({"qwen3__block_count": 0}, "its qwen3.block_count is 0, allowed is 1 or more"),
        (
            {"qwen3__attention__layer_norm_rms_epsilon": math.nan},
            "epsilon is nan, allowed are finite",
        ),
        ({"qwen3__attention__layer_norm_epsilon": math.inf}, "epsilon is inf, allowed are finite numbers"),
        ({"qwen3__rope__dimension_count": 64}, "dimension_count is 64, allowed is up to its key_length, 32"),
        ({"tokenizer__ggml__model": "none"}, "it has no tokenizer"),
        ({"tokenizer__ggml__model": "no_vocab"}, "it has no tokenizer"),
        ({"tokens": ()}, "it has no vocabulary"),
        ({"tokens": ("a", "b", "a")}, "lists 'a' twice, as tokens 0 and 2"),
    ],
)
def test_what_answers_nonsense_or_aborts_llama_cpp_is_refused(
    tmp_path: Path, metadata: dict[str, Any], what: str
) -> None:
    assert what in refused(causal_lm(tmp_path / "m.gguf", **metadata))


@pytest.mark.parametrize(
    "metadata",
    [
        {},
        {"qwen3__attention__causal": True, "qwen3__pooling_type": 0},
        {"tokens": ("", "a", "")},
    ],
)
def test_causal_language_models_pass(tmp_path: Path, metadata: dict[str, Any]) -> None:
    assert check_gguf(causal_lm(tmp_path / "m.gguf", **metadata)).architecture == "qwen3"


def test_all_reasons_come_at_once(tmp_path: Path) -> None:
    message = refused(causal_lm(tmp_path / "m.gguf", qwen3__block_count=0, tokens=("a", "a")))
    assert "block_count" in message
    assert "twice" in message


def test_names_in_other_encodings_are_taken(tmp_path: Path) -> None:
    path = causal_lm(tmp_path / "m.gguf", general__author="MARKER")
    path.write_bytes(path.read_bytes().replace(b"MARKER", "Müller".encode("latin-1")))
    assert check_gguf(path).values["general.author"] == "M\ufffdller"


def test_shards_are_refused_by_name_and_a_single_one_is_whole(small_gguf: Make) -> None:
    for name in ("m-00001-of-00002.gguf", "m-00002-of-00002.gguf", "other-00002-of-00003.gguf"):
        told = refused(small_gguf(name))
        assert name in told
        assert "shard" in told
    assert check_gguf(small_gguf("m-00001-of-00001.gguf", split_count=1)).tensor_count == 2


def patched(path: Path, at: int, form: str, value: int) -> Path:
    data = bytearray(path.read_bytes())
    struct.pack_into(form, data, at, value)
    path.write_bytes(data)
    return path


@pytest.mark.parametrize(
    ("at", "form", "value", "what"),
    [
        (4, "<I", 1, "GGUF version 1, allowed are 2 and 3"),
        (4, "<I", 4, "GGUF version 4"),
        (4, ">I", 3, "big-endian"),
        (8, "<Q", 0, "no tensors"),
        (8, "<Q", 1 << 63, "tensor count of 9,223,372,036,854,775,808"),
        (16, "<Q", 1 << 40, "metadata count"),
        (16, "<Q", 0, "names no general.architecture"),
        (24, "<Q", 1 << 62, "length of key 0"),
    ],
)
def test_wrong_counts_are_refused(small_gguf: Make, at: int, form: str, value: int, what: str) -> None:
    assert what in refused(patched(small_gguf(), at, form, value))


def test_tensor_infos_are_checked(small_gguf: Make) -> None:
    whole = small_gguf().read_bytes()
    # After the name: dimensions (u32), shape (2 x u64), type (u32), offset (u64).
    info = whole.index(b"output.weight") + len(b"output.weight")
    for at, form, value, what in (
        (0, "<I", 5, "5 dimensions"),
        (4, "<Q", 0, "shape [0, 2]"),
        (4, "<Q", 1 << 62, "cut off"),
        (20, "<I", 4, "unknown tensor type 4"),
        (20, "<I", 12, "whole blocks of 256"),
        (24, "<Q", 7, "no multiple of 32"),
        (24, "<Q", 1 << 62, "cut off"),
        (24, "<Q", 0, "overlapping tensors"),
    ):
        assert what in refused(patched(small_gguf(), info + at, form, value)), what


@per_example
@given(st.binary(max_size=400), st.sampled_from([b"", b"GGUF", b"GGUF\x03\0\0\0" + struct.pack("<QQ", 1, 1)]))
def test_arbitrary_bytes_are_refused_and_nothing_else(tmp_path: Path, data: bytes, head: bytes) -> None:
    path = tmp_path / "any.gguf"
    path.write_bytes(head + data)
    refused(path)


@settings(per_example, max_examples=300)
@given(st.lists(st.tuples(st.integers(0, 1023), st.integers(0, 255)), min_size=1, max_size=6))
def test_a_damaged_model_passes_or_is_refused(
    small_gguf: Make, tmp_path: Path, changes: list[tuple[int, int]]
) -> None:
    path = tmp_path / "small.gguf"
    data = bytearray((path if path.exists() else small_gguf()).read_bytes())
    for at, value in changes:
        data[at % len(data)] = value
    damaged = tmp_path / "damaged.gguf"
    damaged.write_bytes(data)
    with contextlib.suppress(NotAModelError):
        assert check_gguf(damaged).tensor_count <= 2


def test_memory_stays_bounded_whatever_a_header_claims(small_gguf: Make, tmp_path: Path) -> None:
    path = tmp_path / "claims.gguf"
    string = struct.pack("<Q", 3) + b"key" + struct.pack("<IQ", 8, 1 << 24)
    path.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 1, 1) + string)
    with path.open("r+b") as file:
        file.truncate(1 << 30)
    tracemalloc.start()
    try:
        refused(path)
        assert tracemalloc.get_traced_memory()[1] < 4 << 20
    finally:
        tracemalloc.stop()
