"""What memory llama.cpp says it has taken."""

import re
from collections import defaultdict

KINDS = ("model", "KV", "RS", "output", "compute")
_LINE = re.compile(rf"(\S+) +({'|'.join(KINDS)}) buffer size *= *([0-9.]+) MiB")
_MIB = 1024 * 1024
_WHOLE = frozenset({"output", "compute"})
"""Buffers that are reported again, whole, when they grow; of the other kinds each line reports one more."""


class Buffers:
    """Bytes by device ("CPU", "CUDA0", ...) and kind: `model` the weights, `KV` keys and values, `RS`
    recurrent states, `output` the logits, `compute` what a forward pass works in."""

    def __init__(self) -> None:
        self._bytes: defaultdict[tuple[str, str], int] = defaultdict(int)

    def clear(self) -> None:
        """Forget them: another model comes."""
        self._bytes.clear()

    def hear(self, line: str) -> None:
        """A line of llama.cpp's log, which may report a buffer."""
        if match := _LINE.search(line):
            device, kind, size = match[1], match[2], round(float(match[3]) * _MIB)
            self._bytes[device, kind] = size + (0 if kind in _WHOLE else self._bytes[device, kind])

    def on_cpu(self, *kinds: str) -> int:
        """Bytes of `kinds` in the machine's own memory, mapped files included."""
        return self._sum(kinds, on_cpu=True)

    def on_gpu(self, *kinds: str) -> int:
        """Bytes of `kinds` on GPUs."""
        return self._sum(kinds, on_cpu=False)

    def _sum(self, kinds: tuple[str, ...], *, on_cpu: bool) -> int:
        return sum(
            size
            for (device, kind), size in self._bytes.items()
            if kind in kinds and (device.startswith("CPU") or device.endswith("_Host")) == on_cpu
        )
