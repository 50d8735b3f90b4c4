"""Runs the probe on several builds and compares what they answer with the installed one."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.llama_builds.fetch import fetch_build, known_builds
from bench.models.tiny_models import write_tiny_gguf
from semif.serve.local_adapter import library_folder

INSTALLED = "installed"
"""The build that the tests run on everywhere else, against which the others are compared."""
MODELS = {"embedded": "text", "qwen3": "letters", "gemma3": "letters", "qwen35": "letters"}
"""Model and readout: the embedded preset, and tiny ones: attention, a sliding window, recurrent layers."""
PROBE_SECONDS = 300


@dataclass(frozen=True)
class Examined:
    """What one build said and answered."""

    build: str
    """As the library names itself."""
    layouts: dict[str, dict[str, int]]
    """Offsets of the fields found in the `context` and `model` parameters, and the structs' `bytes`."""
    invariant: dict[str, bool]
    """Outcome of the engine's self-test by model."""
    logits: dict[str, dict[str, list[float]]]
    """By model and prompt, in the order of the options."""

    def largest_difference(self, other: "Examined", model: str) -> float:
        """Between two builds' logits for the same prompts of `model`."""
        mine, theirs = self.logits[model], other.logits[model]
        assert mine.keys() == theirs.keys()
        pairs = (zip(mine[prompt], theirs[prompt], strict=True) for prompt in mine)
        return max(abs(a - b) for pair in pairs for a, b in pair)


def library_folders() -> dict[str, Path]:
    """The libraries to examine by name: the pinned builds that run on this machine, and the installed one."""
    pinned = {name: fetch_build(build) for name, build in known_builds().items() if build.runs_here}
    return pinned | {INSTALLED: library_folder()}


def examine(folders: Mapping[str, Path], work: Path, *, embedded: Path) -> dict[str, Examined]:
    """Probe each library on all models, as many at once as there are CPUs. `work` gets the tiny models.

    `embedded` is the embedded preset's file. Raises RuntimeError with the probe's last words where one cannot
    load or answer.
    """
    models = [f"text:{embedded}"]
    for architecture, readout in MODELS.items():
        if architecture != "embedded":
            path = work / f"{architecture}.gguf"
            write_tiny_gguf(path, architecture=architecture)
            models.append(f"{readout}:{path}")
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        reports = pool.map(lambda folder: _probe(folder, models), folders.values())
        return {name: _examined(report) for name, report in zip(folders, reports, strict=True)}


def _probe(folder: Path, models: list[str]) -> dict[str, Any]:
    command = [sys.executable, "-m", "bench.llama_builds.probe", str(folder), *models]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PROBE_SECONDS, check=False)
    if done.returncode:
        raise RuntimeError(f"{folder}: {' '.join(done.stderr.split())[-500:]}")
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def _examined(report: dict[str, Any]) -> Examined:
    answers = dict(zip(MODELS, report["models"], strict=True))
    return Examined(
        build=report["build"],
        layouts=report["layouts"],
        invariant={model: answer["info"]["invariant"] for model, answer in answers.items()},
        logits={model: answer["logits"] for model, answer in answers.items()},
    )
