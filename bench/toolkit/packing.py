"""How fast the archive is packed: against `tar czf`, against SHA-256 alone, on the embedded model.

`python -m bench.toolkit.packing` prints a table, writes the same as JSON to `.semif/bench/packing.json`, and
says whether packing is ten times as fast as `tar czf`; the exit status is 0 either way. Every round measures
all of them in turn, so that they share the machine's moods; the medians of the rounds are compared.
"""

import argparse
import hashlib
import json
import os
import statistics
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from semif.models.packaging.archive import ARCHIVE_FILE, write_archive
from semif.models.presets import load_preset
from semif.models.sources import fetch
from semif.project.root import project_root

ROUNDS = 5
BAR = 10.0
"""Times the speed of `tar czf`."""


def main() -> None:
    """Measure, report."""
    argparse.ArgumentParser(prog="bench.toolkit.packing", description=__doc__).parse_args()
    preset = load_preset("embedded")
    gguf = fetch(preset)
    with TemporaryDirectory() as name:
        folder = Path(name)
        archive = folder / ARCHIVE_FILE
        cases: dict[str, Callable[[], object]] = {
            "semif model build": lambda: write_archive(preset.manifest(), [gguf], archive),
            "tar czf": lambda: run(["tar", "czf", str(archive), "-C", str(gguf.parent), gguf.name]),
            "tar cf": lambda: run(["tar", "cf", str(archive), "-C", str(gguf.parent), gguf.name]),
            "SHA-256 alone": lambda: sha256(gguf),
        }
        seconds: dict[str, list[float]] = {case: [] for case in cases}
        size: dict[str, int] = {}
        for _ in range(ROUNDS):
            for case, work in cases.items():
                archive.unlink(missing_ok=True)
                began = time.perf_counter()
                work()
                seconds[case].append(time.perf_counter() - began)
                if archive.exists():
                    size[case] = archive.stat().st_size
    median = {case: statistics.median(times) for case, times in seconds.items()}
    times_tar = median["tar czf"] / median["semif model build"]
    report = {
        "model_bytes": preset.model.bytes,
        "cpus": len(os.sched_getaffinity(0)),
        "rounds": ROUNDS,
        "median_seconds": median,
        "mb_per_second": {case: preset.model.bytes / taken / 1e6 for case, taken in median.items()},
        "archive_over_model": {case: taken / preset.model.bytes for case, taken in size.items()},
        "times_tar_czf": times_tar,
        "bar_times_tar_czf": BAR,
        "of_sha256_speed": median["SHA-256 alone"] / median["semif model build"],
    }
    write_json(report)
    print(f"{'case':20} {'median s':>9} {'MB/s':>9} {'archive/model':>14}")
    for case, taken in median.items():
        ratio = f"{size[case] / preset.model.bytes:.3f}" if case in size else ""
        print(f"{case:20} {taken:9.3f} {preset.model.bytes / taken / 1e6:9.1f} {ratio:>14}")
    print(
        f"packing is {times_tar:.1f} times as fast as tar czf "
        f"(bar: {BAR:g}, {'met' if times_tar >= BAR else 'short of the bar'}) "
        f"and runs at {report['of_sha256_speed']:.2f} of the speed of hashing alone"
    )


def run(command: list[str]) -> None:
    """Run to the end; a failure is one of the benchmark."""
    subprocess.run(command, check=True)


def sha256(path: Path) -> str:
    """Of the whole file, as the standard library does it best."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_json(report: dict[str, object]) -> None:
    """Keep the figures in the project's folder."""
    path = project_root() / ".semif" / "bench" / "packing.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()
