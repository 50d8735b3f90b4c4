"""The header of a GGUF: reads nothing else, and believes none of it.

The format is described in the ggml repository (docs/gguf.md): magic, version, counts, key-value pairs, tensor
infos, then the tensor data at an aligned offset. Every count and length is bounded before it is used.
"""

import struct
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO

from semif.errors import SemifError

MAGIC = b"GGUF"
VERSIONS = (2, 3)
MAX_KEYS = 4096
MAX_TENSORS = 65_536
MAX_ARRAY = 1 << 24
MAX_NAME = 64
"""Longest tensor name, in bytes, terminator included (GGML_MAX_NAME)."""
MAX_KEY = 1024
"""Longest metadata key, in bytes; the format allows more, no model uses it."""
MAX_STRING = 1 << 24
MAX_KEPT = 256
"""Bytes that are kept of a string value: of longer ones (chat templates) it counts that they are there."""
MAX_TOKEN = 4096
"""Longest entry of the vocabulary, in bytes; the longest of published models have some hundred."""
TOKENS = "tokenizer.ggml.tokens"
MAX_DIMENSIONS = 4
DEFAULT_ALIGNMENT = 32

# GGUF value types: the struct format of each scalar.
_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9

# ggml tensor types: (values in a block, bytes of a block), from ggml.c's type traits.
TENSOR_TYPES = {
    0: (1, 4), 1: (1, 2), 2: (32, 18), 3: (32, 20), 6: (32, 22), 7: (32, 24), 8: (32, 34), 9: (32, 36),
    10: (256, 84), 11: (256, 110), 12: (256, 144), 13: (256, 176), 14: (256, 210), 15: (256, 292),
    16: (256, 66), 17: (256, 74), 18: (256, 98), 19: (256, 50), 20: (32, 18), 21: (256, 110), 22: (256, 82),
    23: (256, 136), 24: (1, 1), 25: (1, 2), 26: (1, 4), 27: (1, 8), 28: (1, 8), 29: (256, 56), 30: (1, 2),
    34: (256, 54), 35: (256, 66), 39: (32, 17), 40: (64, 36), 41: (128, 18), 42: (64, 18),
}  # fmt: skip


class NotAModelError(SemifError):
    """The file is no GGUF that could be served; the message says what it is instead, or where it breaks."""


@dataclass(frozen=True)
class GgufHeader:
    """What the header says, after every offset and length in it was checked against the file."""

    version: int
    values: dict[str, int | float | bool | str]
    """Scalar metadata, and the first 256 bytes of strings."""
    tensor_count: int
    tokens: tuple[bytes, ...]
    """The vocabulary, `tokenizer.ggml.tokens`; empty where there is none."""

    @property
    def decision_type(self) -> str | None:
        """What kind of decision head the model has; None for none."""
        return self.text(f"{self.architecture}.decision.type")

    @property
    def architecture(self) -> str:
        """`general.architecture`, such as `llama` or `gemma3`."""
        return str(self.values["general.architecture"])

    def text(self, key: str) -> str | None:
        """The scalar under `key` as llama.cpp gives it; None where there is none."""
        value = self.values.get(key)
        return str(value).lower() if isinstance(value, bool) else None if value is None else str(value)


def read_header(path: Path) -> GgufHeader:
    """Read and check the header of `path`, which begins as a GGUF does; reads no tensor data.

    Raises NotAModelError where it is damaged, cut off or big-endian.
    """
    with path.open("rb") as file:
        return read_header_of(file, path.name, path.stat().st_size)


def read_header_of(file: BinaryIO, name: str, size: int) -> GgufHeader:
    """The same from `file`, which begins there: a file called `name` of `size` bytes, wherever it lies."""
    return _Reader(file, name, size).header()


class _Reader:
    """Walks the header once, front to back; the file's length bounds everything."""

    def __init__(self, file: BinaryIO, name: str, size: int) -> None:
        self._file = file
        self._name = name
        self._size = size
        self._at = 0
        self._tokens: tuple[bytes, ...] = ()

    def header(self) -> GgufHeader:
        self._take(len(MAGIC), "magic")
        version = self._number("I", "version")
        if version not in VERSIONS:
            swapped = int.from_bytes(version.to_bytes(4, "little"), "big") in VERSIONS
            raise self._error(
                "is big-endian, llama.cpp's hosts here are little-endian"
                if swapped
                else f"has GGUF version {version}, allowed are {VERSIONS[0]} and {VERSIONS[1]}"
            )
        tensors = self._count("tensor count", MAX_TENSORS)
        keys = self._count("metadata count", MAX_KEYS)
        if tensors == 0:
            raise self._error("holds no tensors: a vocabulary, not a model")
        values = self._values(keys)
        if not isinstance(values.get("general.architecture"), str):
            raise self._error("names no general.architecture")
        self._check_tensors(tensors, self._alignment(values))
        return GgufHeader(version, values, tensors, self._tokens)

    def _values(self, count: int) -> dict[str, int | float | bool | str]:
        values: dict[str, int | float | bool | str] = {}
        seen: set[str] = set()
        for index in range(count):
            key = self._text(self._count(f"length of key {index}", MAX_KEY), f"key {index}")
            if key in seen:
                raise self._error(f"has the key {key!r} twice")
            seen.add(key)
            value = self._value(self._number("I", f"type of {key!r}"), key)
            if value is not None:
                values[key] = value
        return values

    def _value(self, kind: int, key: str) -> int | float | bool | str | None:
        """A scalar, or the beginning of a string; anything else is skipped within bounds."""
        if kind in _SCALARS:
            return self._number(_SCALARS[kind], f"value of {key!r}")
        if kind == _STRING:
            length = self._count(f"length of {key!r}", MAX_STRING)
            # People's names and licences come in other encodings too; nothing is decided by them.
            kept = self._take(min(length, MAX_KEPT), f"value of {key!r}").decode(errors="replace")
            self._skip(length - min(length, MAX_KEPT), f"value of {key!r}")
            return kept
        if kind == _ARRAY:
            self._skip_array(key)
        else:
            raise self._error(f"has the unknown value type {kind} at {key!r}")
        return None

    def _skip_array(self, key: str) -> None:
        kind = self._number("I", f"element type of {key!r}")
        count = self._count(f"length of {key!r}", MAX_ARRAY)
        if kind in _SCALARS:
            self._skip(count * struct.calcsize("<" + _SCALARS[kind]), f"array {key!r}")
        elif kind == _STRING and key == TOKENS:
            self._tokens = tuple(self._token(index) for index in range(count))
        elif kind == _STRING:
            for _ in range(count):
                self._skip(self._count(f"string length in {key!r}", MAX_STRING), f"string in {key!r}")
        else:
            raise self._error(f"has an array of type {kind} at {key!r}, allowed are scalars and strings")

    def _token(self, index: int) -> bytes:
        return self._take(self._count(f"length of token {index}", MAX_TOKEN), f"token {index}")

    def _alignment(self, values: dict[str, int | float | bool | str]) -> int:
        alignment = values.get("general.alignment", DEFAULT_ALIGNMENT)
        if type(alignment) is not int or not 8 <= alignment <= 1 << 20 or alignment & (alignment - 1):
            raise self._error(f"has general.alignment {alignment!r}, allowed are powers of two from 8 on")
        return alignment

    def _check_tensors(self, count: int, alignment: int) -> None:
        """Check that each tensor's data lies, aligned, inside the file."""
        ends: list[tuple[int, int, str]] = []
        names: set[str] = set()
        for index in range(count):
            name = self._text(
                self._count(f"name length of tensor {index}", MAX_NAME - 1), f"name of tensor {index}"
            )
            if name in names:
                raise self._error(f"has the tensor {name!r} twice")
            names.add(name)
            size = self._tensor_bytes(name)
            offset = self._number("Q", f"offset of {name!r}")
            if offset % alignment:
                raise self._error(
                    f"has the tensor {name!r} at offset {offset}, which is no multiple of {alignment}"
                )
            ends.append((offset, offset + size, name))
        data = -(-self._at // alignment) * alignment
        _, end, name = max(ends, key=lambda extent: extent[1])
        if data + end > self._size:
            raise self._error(
                f"is cut off: tensor {name!r} ends at byte {data + end:,}, the file at {self._size:,}; "
                "fetch it again"
            )
        ends.sort()
        for (_, end, name), (offset, _, following) in pairwise(ends):
            if offset < end:
                raise self._error(f"has overlapping tensors {name!r} and {following!r}")

    def _tensor_bytes(self, name: str) -> int:
        dimensions = self._number("I", f"dimensions of {name!r}")
        if not 1 <= dimensions <= MAX_DIMENSIONS:
            raise self._error(
                f"has {dimensions} dimensions at tensor {name!r}, allowed are 1 to {MAX_DIMENSIONS}"
            )
        shape = [self._number("Q", f"shape of {name!r}") for _ in range(dimensions)]
        kind = self._number("I", f"type of {name!r}")
        if kind not in TENSOR_TYPES:
            raise self._error(f"has the unknown tensor type {kind} at {name!r}")
        block, block_bytes = TENSOR_TYPES[kind]
        if 0 in shape or shape[0] % block:
            raise self._error(
                f"has shape {shape} at tensor {name!r}, allowed are rows of whole blocks of {block}"
            )
        values = 1
        for extent in shape:
            values *= extent
        return values // block * block_bytes

    def _number(self, kind: str, what: str) -> int:
        (value,) = struct.unpack("<" + kind, self._take(struct.calcsize("<" + kind), what))
        return value  # type: ignore[no-any-return]  # struct tells no types

    def _count(self, what: str, most: int) -> int:
        count = self._number("Q", what)
        if count > most:
            raise self._error(f"has a {what} of {count:,}, allowed are up to {most:,}")
        return count

    def _text(self, length: int, what: str) -> str:
        try:
            return self._take(length, what).decode("utf-8")
        except UnicodeDecodeError:
            raise self._error(f"has a {what} that is not UTF-8") from None

    def _take(self, length: int, what: str) -> bytes:
        """The next `length` bytes; callers bound `length` by a constant first."""
        taken = self._file.read(length)
        self._at += length
        if len(taken) < length:
            raise self._error(f"is cut off in its header ({what}); fetch it again")
        return taken

    def _skip(self, length: int, what: str) -> None:
        self._at += length
        if self._at > self._size:
            raise self._error(f"is cut off in its header ({what}); fetch it again")
        self._file.seek(self._at)

    def _error(self, problem: str) -> NotAModelError:
        return NotAModelError(f"{self._name} {problem}")
