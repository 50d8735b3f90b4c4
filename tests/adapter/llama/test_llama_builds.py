"""The binding on several published builds of llama.cpp, of other struct layouts and other library layouts."""

import platform
from pathlib import Path

import pytest

from bench.llama_builds.examine import INSTALLED, MODELS, Examined, examine, library_folders
from bench.llama_builds.fetch import known_builds

pytestmark = pytest.mark.skipif(
    (platform.system(), platform.machine()) != ("Linux", "x86_64"),
    reason="the pinned llama.cpp builds are for x86-64 Linux",
)

OTHER_KERNELS = {"embedded": 1.0, "qwen3": 1e-3, "gemma3": 1e-3, "qwen35": 1e-3}
"""How far logits may be off: a publisher's kernels round otherwise, most of all on quantized weights."""


@pytest.fixture(scope="module")
def builds(tmp_path_factory: pytest.TempPathFactory, short_gguf: Path) -> dict[str, Examined]:
    """All of them; of the embedded model the first layers, which have all of its kernels."""
    return examine(library_folders(), tmp_path_factory.mktemp("models"), embedded=short_gguf)


@pytest.mark.parametrize("name", [*known_builds(), INSTALLED])
def test_a_build_loads_proves_itself_and_answers_as_the_others(
    builds: dict[str, Examined], name: str
) -> None:
    if name not in builds:
        pytest.skip(f"{name} needs glibc {known_builds()[name].glibc}")

    assert builds[name].invariant == dict.fromkeys(MODELS, True)
    for model, allowed in OTHER_KERNELS.items():
        assert builds[name].largest_difference(builds[INSTALLED], model) < allowed


def test_the_builds_have_different_layouts(builds: dict[str, Examined]) -> None:
    """Otherwise they would not show that fields are found wherever they are."""
    sizes = {
        (build.layouts["context"]["bytes"], build.layouts["model"]["bytes"]) for build in builds.values()
    }
    assert {(160, 72), (160, 80), (168, 80)} <= sizes
    assert len({build.layouts["context"]["kv_unified"] for build in builds.values()}) > 1
