"""A model's first layers alone: its own words, template and kernels, in a fraction of the time."""

import re
import struct
from pathlib import Path

_SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
"""Bytes of a scalar, by its type in a GGUF; the others are texts and arrays."""
_TEXT, _ARRAY = 8, 9
_ALIGNMENT = 32


def write_first_layers(source: Path, target: Path, layers: int) -> None:
    """Write the GGUF `source` without its layers from the number `layers` on: what it answers is nonsense.

    All else is copied byte by byte: the gguf package takes seconds to read a vocabulary and to write it.
    """
    data = source.read_bytes()
    _, _, tensors, keys = struct.unpack_from("<4sIQQ", data)
    counts, at = [], struct.calcsize("<4sIQQ")
    for _ in range(keys):
        key, value = _text(data, at)
        assert key != b"general.alignment"
        if key.endswith(b".block_count"):
            counts.append(value + 4)
        at = _end(data, value + 4, _number(data, value))
    head = bytearray(data[:at])
    struct.pack_into("<I", head, counts[0], layers)
    infos = []
    for _ in range(tensors):
        begin = at
        name, at = _text(data, at)
        at += 4 + 8 * _number(data, at) + 4
        infos.append((struct.unpack_from("<Q", data, at)[0], name.decode(), data[begin:at]))
        at += 8
    starts = sorted(start for start, _, _ in infos)
    ends = dict(zip(starts, [*starts[1:], len(data)], strict=True))
    first, kept = at + -at % _ALIGNMENT, []
    for start, name, info in sorted(infos):
        layer = re.match(r"blk\.(\d+)\.", name)
        if layer is None or int(layer[1]) < layers:
            size = min(ends[start] + first, len(data)) - first - start
            kept.append((info, data[first + start : first + start + size]))
    struct.pack_into("<Q", head, 8, len(kept))
    place = 0
    for info, values in kept:
        head += info + struct.pack("<Q", place)
        place += len(values)
    head += bytes(-len(head) % _ALIGNMENT)
    target.write_bytes(head + b"".join(values for _, values in kept))


def _number(data: bytes, at: int) -> int:
    return int.from_bytes(data[at : at + 4], "little")


def _text(data: bytes, at: int) -> tuple[bytes, int]:
    """The text at `at`, and where it ends."""
    end = at + 8 + int.from_bytes(data[at : at + 8], "little")
    return data[at + 8 : end], end


def _end(data: bytes, at: int, kind: int) -> int:
    """Where the value of this type ends that begins at `at`."""
    if kind == _TEXT:
        return _text(data, at)[1]
    if kind != _ARRAY:
        return at + _SIZES[kind]
    item, count = struct.unpack_from("<IQ", data, at)
    at += 12
    if item in _SIZES:
        return int(at + count * _SIZES[item])
    for _ in range(count):
        at = _end(data, at, item)
    return at
