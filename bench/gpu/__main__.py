"""`python -m bench.gpu`: the engine's benchmark on an NVIDIA GPU, in every mode, and its page.

Takes the llama.cpp in `--library` (in the container /opt/llama.cpp/bin), or installs xllamacpp's wheel with
CUDA into the user's cache folder. A run whose layers no CUDA device takes ends with that message. With five
rounds of every case the tables go into docs/measured/performance-gpu.md.
"""

import argparse
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import get_args

from bench.engine.measuring.plan import KEPT_ROUNDS
from bench.engine.report.keep import check_section, keep_section
from bench.engine.rounds.record import Record
from bench.gpu.device import Device, devices
from bench.gpu.library import check_build, installed_wheel
from semif.errors import SemifError
from semif.project.root import project_root
from semif_adapter.contract.wire import Mode

SECTION = "gpu"


def main() -> int:
    """Check, measure, write."""
    parser = argparse.ArgumentParser(prog="bench.gpu", description=__doc__)
    parser.add_argument("--model", default="qwen3-0.6b", help="as for bench.engine (default %(default)s)")
    parser.add_argument(
        "--library", type=Path, metavar="DIR", help="a built llama.cpp with CUDA and llama-server"
    )
    parser.add_argument(
        "--cuda", default="cu128", help="of the wheel, without --library (default %(default)s)"
    )
    parser.add_argument("--gpu-layers", type=int, default=-1, help="-1: all (default %(default)s)")
    parser.add_argument(
        "--rounds", type=int, default=KEPT_ROUNDS, help="of each case; with fewer than the default no page"
    )
    arguments = parser.parse_args()
    try:
        check_section(SECTION)
        found = _check(arguments.library)
        environment, more = dict(os.environ), []
        if arguments.library:
            more = ["--library", str(arguments.library.resolve())]
        else:
            environment["PYTHONPATH"] = str(installed_wheel(arguments.cuda))
        for mode in get_args(Mode):
            run = ["-m", "bench.engine", "--model", arguments.model, "--rounds", str(arguments.rounds)]
            run += ["--gpu-layers", str(arguments.gpu_layers), "--output", str(_output(mode)), *more]
            done = subprocess.run([sys.executable, *run], check=False, env=environment | {"SEMIF_MODE": mode})
            if done.returncode:
                raise SemifError(f"the run in {mode} mode failed, see above; no page was written")
        if arguments.rounds < KEPT_ROUNDS:
            print(f"bench.gpu: no page of fewer than {KEPT_ROUNDS} rounds; see {_output('*')}")
            return 0
        command = " ".join(["python -m bench.gpu", *sys.argv[1:]])
        keep_section(SECTION, page(found, command, {mode: _output(mode) for mode in get_args(Mode)}))
    except (SemifError, OSError, ValueError) as error:
        print(f"bench.gpu: {error}", file=sys.stderr)
        return 1
    return 0


def _check(library: Path | None) -> list[Device]:
    """The devices. Raises SemifError with all that is missing here."""
    problems: list[str] = []
    found: list[Device] = []
    try:
        found = devices()
    except SemifError as error:
        problems.append(str(error))
    if library is not None and (lacking := check_build(library)):
        problems.append(f"--library {library} lacks {', '.join(lacking)}")
    if problems:
        raise SemifError("; ".join(problems))
    return found


def _output(mode: str) -> Path:
    return project_root() / ".semif" / "bench" / "gpu" / mode


def page(found: list[Device], command: str, outputs: Mapping[str, Path]) -> str:
    """The section: the devices, then what each mode's run left in its folder."""
    told = [f"- {one.name}, {one.memory}, driver {one.driver}" for one in found]
    parts = [f"Measured with `{command}`.", "\n".join(told)]
    for mode, output in outputs.items():
        parts.append(f"### {Record.read(output).setup['model']['name']}, {mode}")
        parts.append((output / "report.md").read_text().strip())
    return "\n\n".join(parts)


if __name__ == "__main__":
    sys.exit(main())
