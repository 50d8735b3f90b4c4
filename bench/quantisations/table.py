"""The measurements in Markdown, and as one JSON document."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from bench.engine.rounds.measure import Quartiles, Samples, ratio
from bench.models.quantised import weight_types

REFERENCE = "Q4_K_M"
"""What the presets are of, and the others are compared with."""


@dataclass
class Measured:
    """One model on the kernels `kernels`."""

    kernels: str
    type_name: str
    gguf: Path
    samples: Samples = field(default_factory=Samples)
    start: dict[str, Any] = field(default_factory=dict)
    """What its process said of the library."""

    def rate(self, tokens: int) -> Quartiles:
        """Tokens for each second of CPU time: of one core, where one thread computes."""
        return Quartiles.of([tokens / seconds for seconds in self.samples.cpu])

    def document(self, tokens: int) -> dict[str, Any]:
        """Everything known of it."""
        return {
            "kernels": self.kernels,
            "type": self.type_name,
            **self.start,
            "bytes": self.gguf.stat().st_size,
            "matrices": matrices(self.gguf),
            "tokens_per_cpu_second": self.rate(tokens).median,
            "wall": self.samples.wall,
            "cpu": self.samples.cpu,
        }


@cache
def matrices(gguf: Path) -> dict[str, float]:
    """`weight_types`, read once: a large vocabulary takes seconds."""
    return weight_types(gguf)


def whole(measured: Sequence[Measured], tokens: int) -> str:
    """A table for each of the kernels, the first of which the others are compared with."""
    by_kernels: dict[str, list[Measured]] = {}
    for one in measured:
        by_kernels.setdefault(one.kernels, []).append(one)
    first = next(iter(by_kernels.values()))
    return "\n\n".join(_table(group, first, tokens) for group in by_kernels.values())


def _table(group: Sequence[Measured], first: Sequence[Measured], tokens: int) -> str:
    start = group[0].start
    reference = next((one for one in group if one.type_name == REFERENCE), group[0])
    others = {one.type_name: one for one in first} if group is not first else {}
    against = f" | times `{first[0].kernels}`" if others else ""
    lines = [
        (
            f"Kernels `{group[0].kernels}`: `{start['backend']}` of llama.cpp {start['build']}, compiled for "
            f"{', '.join(start['features'])}."
        ),
        "",
        (
            f"| type | MB | matrices | tokens a second of CPU | times {reference.type_name} "
            f"| by the clock{against} |"
        ),
        "|---|---:|---|---:|---:|---:|" + ("---:|" if others else ""),
    ]
    for one in group:
        cells = [
            one.type_name,
            f"{one.gguf.stat().st_size / 1e6:.0f}",
            ", ".join(f"{name} {share:.0%}" for name, share in matrices(one.gguf).items()),
            one.rate(tokens).shown(0),
            ratio(reference.samples.cpu, one.samples.cpu).shown(),
            ratio(reference.samples.wall, one.samples.wall).shown(),
        ]
        if others:
            cells.append(ratio(others[one.type_name].samples.cpu, one.samples.cpu).shown())
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)
