"""The table that `semif size --estimate` scales: what one core computes, by kernels and type of weights."""

import csv
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cache
from io import StringIO
from pathlib import Path

import gguf

from bench.quantisations.table import Measured
from semif.deployment.endpoint.estimated_rate import KERNELS, NOTES, RATES_FILE, Rate
from semif.project.root import project_root

_FEATURES = {"AMX_INT8": "AMX", "AVX512_VNNI": "AVX-512 VNNI", "AVX512": "AVX-512", "AVX2": "AVX2"}
"""llama.cpp's names for what makes its kernels faster, the best first."""


def keep_rates(measured: Sequence[Measured], tokens: int, processor: str, root: Path | None = None) -> Path:
    """Put what was measured in place of what the table has of these kernels. Returns the file."""
    path = (root or project_root()) / "semif" / "deployment" / "endpoint" / RATES_FILE
    # Backwards, so that of two libraries with kernels of the same kind the first one named counts.
    rates_found = [_rate(one, tokens, processor) for one in reversed(measured)]
    found = {(rate.kernels, rate.quantization): rate for rate in rates_found if rate is not None}
    earlier = Rate.table(path.read_text()) if path.is_file() else []
    kept = [rate for rate in earlier if rate.kernels not in {kernels for kernels, _ in found}]
    rates = sorted((*kept, *reversed(found.values())), key=lambda rate: KERNELS.index(rate.kernels))
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(Rate._fields)
    writer.writerows(rates)
    path.write_text("".join(f"# {line}\n" for line in NOTES) + text.getvalue())
    return path


def _rate(one: Measured, tokens: int, processor: str) -> Rate | None:
    """None for kernels that no instance type stands for."""
    names = [name for feature, name in _FEATURES.items() if feature in one.start["features"]]
    if not names:
        return None
    return Rate(
        kernels=names[0],
        quantization=one.type_name,
        tokens_per_second=round(one.rate(tokens).median, 1),
        layer_bytes=layer_bytes(one.gguf),
        processor=processor,
        llama_cpp=one.start["build"].partition(",")[0],
        measured_on=datetime.now(UTC).date().isoformat(),
    )


@cache
def layer_bytes(path: Path) -> int:
    """Bytes of the layers, whose matrices every token is multiplied with; those of the embeddings are not."""
    tensors = gguf.GGUFReader(path).tensors
    return sum(int(tensor.n_bytes) for tensor in tensors if tensor.name.startswith("blk."))
