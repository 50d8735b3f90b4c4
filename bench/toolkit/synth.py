"""How long all environments take to synthesise: against an empty CDK app, started in the same way.

`python -m bench.toolkit.synth` starts each of both in a process of its own, in turn, with the flags of
cdk.json: an app with one stack that holds one resource, and one app with every environment, its example lock
checked and cdk-nag on it. It prints medians and their ratio, writes them to `.semif/bench/synth.json`,
and ends with status 1 where the ratio of the times is above the bar.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from semif.project.root import project_root

ROUNDS = 5
BAR = 1.5
"""Most times what an empty app takes."""


def empty(outdir: str) -> None:
    """An app with nothing of ours."""
    from aws_cdk import App, CfnWaitConditionHandle, Stack  # noqa: PLC0415 - its import is measured

    app = App(analytics_reporting=False, context=_flags(), outdir=outdir)
    CfnWaitConditionHandle(Stack(app, "Empty"), "Nothing")  # the CDK refuses a stack without a resource
    app.synth()


def environments(outdir: str) -> None:
    """Every environment in one app, as the CDK CLI would have each."""
    from aws_cdk import App  # noqa: PLC0415 - its import is measured

    from cdk_app.app import build, read_deployment  # noqa: PLC0415
    from semif.environment.environment import environment_names  # noqa: PLC0415

    locks = project_root() / "tests" / "infra" / "locks"
    app = App(analytics_reporting=False, context=_flags(), outdir=outdir)
    build(*(read_deployment(name, locks / f"{name}.json") for name in environment_names()), app=app)
    app.synth()


CASES = {"empty app": empty, "all environments": environments}


def main() -> int:
    """Measure, report; the exit status."""
    argparse.ArgumentParser(prog="bench.toolkit.synth", description=__doc__).parse_args()
    seconds: dict[str, list[float]] = {case: [] for case in CASES}
    cpu: dict[str, list[float]] = {case: [] for case in CASES}
    for _ in range(ROUNDS):
        for case in CASES:
            began = time.perf_counter()
            with TemporaryDirectory() as outdir:
                command = [sys.executable, "-m", "bench.toolkit.synth", case, outdir]
                done = subprocess.run(command, cwd=project_root(), check=True, capture_output=True, text=True)
            seconds[case].append(time.perf_counter() - began)
            cpu[case].append(float(done.stdout.split()[-1]))
    load_average = os.getloadavg()[0]
    report: dict[str, object] = {"rounds": ROUNDS, "bar": BAR, "load_average": load_average}
    ratios: dict[str, float] = {}
    for measure, samples in (("seconds", seconds), ("cpu_seconds", cpu)):
        medians = {case: statistics.median(values) for case, values in samples.items()}
        ratios[measure] = medians["all environments"] / medians["empty app"]
        report |= {measure: medians, f"{measure}_ratio": ratios[measure]}
        for case, value in medians.items():
            print(f"{case:18} {value:7.2f} {measure.replace('_', ' ')}")
    ratio = ratios["seconds"]
    verdict = "met" if ratio <= BAR else "missed"
    print(
        f"ratio {ratio:.2f} (CPU {ratios['cpu_seconds']:.2f}), at most {BAR}: {verdict}; "
        f"load average {load_average:.1f}"
    )
    path = project_root() / ".semif" / "bench" / "synth.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(report, indent=2) + "\n")
    return 0 if ratio <= BAR else 1


def _flags() -> dict[str, object]:
    flags: dict[str, object] = json.loads((project_root() / "cdk.json").read_text())["context"]
    return flags


def _family_cpu_seconds() -> float:
    """CPU time of this process and of the Node process that jsii runs beside it, which nobody waits for."""
    parents: dict[int, int] = {}
    used: dict[int, float] = {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        parents[int(entry.name)] = int(fields[1])
        used[int(entry.name)] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    family = {os.getpid()}
    while more := {child for child, parent in parents.items() if parent in family} - family:
        family |= more
    return sum(used[member] for member in family)


if __name__ == "__main__":
    if len(sys.argv) == 3:
        CASES[sys.argv[1]](sys.argv[2])
        print(_family_cpu_seconds())
    else:
        sys.exit(main())
