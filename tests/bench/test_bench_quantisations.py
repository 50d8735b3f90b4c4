"""The comparison of types of weights: it measures all on a real library, and keeps what sizing scales."""

import json
import platform
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from bench.llama_builds.kernels import kernels_folder
from bench.quantisations.processor import processor_features
from bench.quantisations.rates import keep_rates, layer_bytes
from bench.quantisations.table import Measured, whole
from semif.deployment.endpoint.estimated_rate import RATES_FILE, Rate
from semif.errors import SemifError

ROOT = Path(__file__).parent.parent.parent


def test_every_type_is_measured_in_every_round(tiny_gguf: Callable[..., Path], tmp_path: Path) -> None:
    command = ["-m", "bench.quantisations", "--model", str(tiny_gguf()), "--types", "F16", "Q8_0", "--json"]
    done = subprocess.run(
        [sys.executable, *command, "--rounds", "2", "--tokens", "64"],
        cwd=ROOT,
        env={"PATH": "", "XDG_CACHE_HOME": str(tmp_path)},
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert [one["type"] for one in document["measured"]] == ["F16", "Q8_0"]
    for one in document["measured"]:
        assert len(one["cpu"]) == len(one["wall"]) == document["rounds"] == 2
        assert one["tokens_per_cpu_second"] > 0
        assert "REPACK" in one["features"]
        assert one["backend"].startswith("xllamacpp")


def measured(gguf: Path, kernels: str, type_name: str, seconds: float, *features: str) -> Measured:
    one = Measured(kernels, type_name, gguf)
    one.start = {"backend": "libggml-cpu.so", "build": "0.5.0, ggml 1", "features": features}
    one.samples.cpu, one.samples.wall = [seconds] * 3, [2 * seconds] * 3
    return one


def test_the_table_compares_types_and_kernels(tiny_gguf: Callable[..., Path]) -> None:
    runs = [
        measured(tiny_gguf(), kernels, type_name, seconds, "AVX2")
        for kernels, faster in (("old", 1), ("new", 2))
        for type_name, seconds in (("Q8_0", 4 / faster), ("Q4_K_M", 2 / faster))
    ]
    rows = [line.split(" | ") for line in whole(runs, 100).splitlines() if line.startswith(("| Q8", "| Q4"))]
    assert [(row[3].split()[0], row[4].split()[0]) for row in rows] == [
        ("25", "0.50"),
        ("50", "1.00"),
        ("50", "0.50"),
        ("100", "1.00"),
    ]
    assert [row[-1].split()[0] for row in rows[2:]] == ["2.00", "2.00"]


def test_kept_rates_replace_those_of_the_same_kernels(tiny_gguf: Callable[..., Path], tmp_path: Path) -> None:
    folder = tmp_path / "semif" / "deployment" / "endpoint"
    folder.mkdir(parents=True)
    gguf = tiny_gguf()
    for seconds, kernels in ((2, ("AVX2", "AVX512", "AVX512_VNNI")), (1, ("AVX2",))):
        keep_rates([measured(gguf, "k", "Q8_0", seconds, *kernels)], 100, "a CPU", tmp_path)
    keep_rates([measured(gguf, "none", "Q8_0", 1, "NEON")], 100, "a CPU", tmp_path)
    rates = Rate.table((folder / RATES_FILE).read_text())
    assert [(rate.kernels, rate.tokens_per_second, rate.llama_cpp) for rate in rates] == [
        ("AVX-512 VNNI", 50, "0.5.0"),
        ("AVX2", 100, "0.5.0"),
    ]
    keep_rates([measured(gguf, "k", "Q8_0", 4, "AVX2")], 100, "a CPU", tmp_path)
    assert [rate.tokens_per_second for rate in Rate.table((folder / RATES_FILE).read_text())] == [50, 25]
    assert 0 < layer_bytes(gguf) < gguf.stat().st_size


@pytest.mark.skipif(
    (platform.system(), platform.machine()) != ("Linux", "x86_64"),
    reason="the pinned llama.cpp builds are for x86-64 Linux",
)
def test_kernels_that_the_build_lacks_are_refused_with_those_it_has() -> None:
    with pytest.raises(SemifError, match=r'no kernels "pentium"; choose installed, best or one of .*haswell'):
        kernels_folder("pentium")
    alone = kernels_folder("haswell")
    assert [path.name for path in alone.glob("libggml-cpu*")] == ["libggml-cpu-haswell.so"]


def test_the_processor_is_told_in_the_words_of_the_instances() -> None:
    assert processor_features("flags\t: fpu avx2 avx512f avx512_vnni\n") == [
        "AVX2",
        "AVX-512",
        "AVX-512 VNNI",
    ]
    assert processor_features("Features\t: asimd asimddp i8mm\n") == ["dot products (Arm)", "i8mm (Arm)"]
    assert processor_features("") == []
