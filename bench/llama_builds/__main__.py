"""`python -m bench.llama_builds`: the table of docs/upgrading-llama-cpp.md, in Markdown."""

import argparse
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.llama_builds.examine import INSTALLED, MODELS, Examined, examine, library_folders
from bench.llama_builds.fetch import known_builds
from semif.errors import SemifError
from semif.models.presets import load_preset
from semif.models.sources.fetch import fetch

HEADER = [
    "pin",
    "says of itself",
    "libraries",
    "context params: bytes, swa_full, kv_unified",
    "model params: bytes, n_gpu_layers",
    "same bits whatever is resident",
    *(f"logits off, {model}" for model in MODELS),
]


def _row(name: str, folder: Path, examined: Examined, reference: Examined) -> list[str]:
    context, model = examined.layouts["context"], examined.layouts["model"]
    invariant = [model for model, holds in examined.invariant.items() if holds]
    return [
        name,
        examined.build,
        _form(folder),
        f"{context['bytes']}, {context['swa_full']}, {context['kv_unified']}",
        f"{model['bytes']}, {model['n_gpu_layers']}",
        "all models" if len(invariant) == len(MODELS) else ", ".join(invariant) or "none",
        *(f"{examined.largest_difference(reference, model):.1g}" for model in MODELS),
    ]


def _form(folder: Path) -> str:
    backends = len(list(folder.glob("libggml-cpu-*.so")))
    if backends:
        return f"split, {backends} CPU backends as plugins"
    return "one file" if any(folder.glob("xllamacpp*.so")) else "split, one CPU backend"


def main() -> int:
    """Print the table; the exit status."""
    argparse.ArgumentParser(prog="bench.llama_builds", description=__doc__).parse_args()
    try:
        folders = library_folders()
        with TemporaryDirectory() as work:
            builds = examine(folders, Path(work), embedded=fetch(load_preset("embedded")))
    except (SemifError, RuntimeError, OSError) as error:
        print(f"bench.llama_builds: {error}", file=sys.stderr)
        return 1
    print("|".join(("", *HEADER, "")))
    print("|---" * len(HEADER) + "|")
    for name, examined in builds.items():
        row = _row(name, folders[name], examined, builds[INSTALLED])
        print(f"| {' | '.join(row)} |")
    for build in known_builds().values():
        if not build.runs_here:
            print(f"\n{build.name} was left out: it needs glibc {build.glibc}, which this machine has not.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
