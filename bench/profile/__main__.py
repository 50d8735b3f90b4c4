"""`python -m bench.profile`: where the time of a decision goes, in process and over HTTP.

Decisions of about 300 tokens, each with another state and another question, one after another: a minute for
the embedded model on a quiet machine, five for one of 0.6 billion parameters. `--keep` puts the table into
`docs/measured/`.
"""

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from time import perf_counter

import numpy as np

from bench.engine.contenders.adapter_process import HOST, Served
from bench.engine.contenders.contender import PreparedCase, document, prepare_case
from bench.engine.contenders.http_client import Connection
from bench.engine.measuring.workloads import ROUTING, Case, Workloads
from bench.engine.report.keep import check_section, keep_section
from bench.engine.run import find_gguf
from bench.profile.watch import CHECK, ENGINE, PASSES, PROMPT, Call, Watch, seconds_by_part, watch_engine
from semif.errors import SemifError
from semif.evaluation.tasks.task_lines import read_tasks
from semif.serve.local_adapter import library_folder
from semif_adapter.contract.errors import StartupError
from semif_adapter.contract.settings import Settings
from semif_adapter.engine.engine import Engine
from semif_adapter.llama.libllama import open_library
from semif_adapter.llama.model import Model

STATE_TOKENS = 250
"""With a question and the prompt's own words some 300."""
WANTED = 0.02
"""At most this share of a decision outside the forward passes."""
EVENT_LOOP, REST = "event loop (CPU time)", "the rest: threads waking up, the network, the client"

PartSeconds = dict[str, float]
"""Seconds of one decision by part; all together are its time."""


def main() -> int:
    """Measure, print the table."""
    parser = argparse.ArgumentParser(prog="bench.profile", description=__doc__)
    parser.add_argument("--model", default="embedded", help="default %(default)s")
    parser.add_argument("--decisions", type=int, default=20, help="measured each way; default %(default)s")
    parser.add_argument("--keep", action="store_true", help="put the table into docs/")
    arguments = parser.parse_args()
    try:
        if arguments.keep:
            check_section("profile")
        text = measure(arguments.model, arguments.decisions)
    except (SemifError, StartupError, OSError, ValueError) as error:
        print(f"bench.profile: {error}", file=sys.stderr)
        return 1
    print(text)
    if arguments.keep:
        command = " ".join(["python -m bench.profile", *sys.argv[1:]])
        keep_section("profile", f"Measured with `{command}`.\n\n{text}")
    return 0


def measure(name: str, decisions: int) -> str:
    """The table of `decisions` of each kind on the model `name`."""
    gguf = find_gguf(name)
    library = open_library(library_folder().resolve())
    watch = Watch()
    watch_engine(watch, library)
    settings = Settings.model_validate(
        {"gguf": gguf, "library_dir": library_folder(), "readout": "letters", "context_tokens": 1024}
    )
    load = os.getloadavg()[0]
    with closing(Engine.load(settings)) as engine, closing(Model(library, gguf, 0)) as model:
        workloads = Workloads(model, read_tasks(ROUTING))
        prepared = [prepare_case(engine, _case(workloads, number)) for number in range(2 * decisions)]
        inside = in_process(engine, watch, prepared[:decisions])
        threads = engine.info.threads
    with tempfile.TemporaryDirectory() as folder:
        calls = Path(folder) / "calls.json"
        served = Served(
            str(gguf),
            command=("-m", "bench.profile.served", str(calls)),
            SEMIF_READOUT="letters",
            SEMIF_CONTEXT_TOKENS="1024",
            SEMIF_THREADS=str(threads),
        )
        with served:
            over_http = through(served, calls, [one.case for one in prepared[decisions:]])
    tokens = [sum(map(len, one.prompts[0][0])) for one in prepared]
    what = (
        f"{name}, {decisions} decisions of {min(tokens)} to {max(tokens)} tokens each way, {threads} "
        f"threads, load average {load:.1f} to {os.getloadavg()[0]:.1f}; medians in milliseconds."
    )
    return "\n".join([what, "", *_table(inside, over_http)])


def _case(workloads: Workloads, number: int) -> Case:
    (decision,) = workloads.long(f"profile-{number}", STATE_TOKENS, 1)
    return Case("", "schema-first", ((decision | {"question": f"{number}. {decision['question']}"},),))


def in_process(engine: Engine, watch: Watch, prepared: Sequence[PreparedCase]) -> list[PartSeconds]:
    """Ask the engine directly."""
    decisions = []
    for one in prepared:
        began = perf_counter()
        engine.score(one.questions[0], one.case.layout)
        ended = perf_counter()
        parts = seconds_by_part(watch.calls, began, ended)
        parts[ENGINE] = ended - began - parts[PASSES] - parts[PROMPT]
        decisions.append(parts)
    return decisions


def through(served: Served, calls: Path, cases: Sequence[Case]) -> list[PartSeconds]:
    """Ask over HTTP, then stop the server, which tells what it did when."""
    times, loop_seconds = [], []
    with closing(Connection(f"http://{HOST}:{served.port}")) as connection:
        for case in cases:
            cpu, began = _main_thread_seconds(served.pid), perf_counter()
            connection.need("/invocations", document(case, case.requests[0]))
            times.append((began, perf_counter()))
            loop_seconds.append(_main_thread_seconds(served.pid) - cpu)
    served.stop()
    watched = [Call(*call) for call in json.loads(calls.read_text())]
    decisions = []
    for (began, ended), loop in zip(times, loop_seconds, strict=True):
        parts = seconds_by_part(watched, began, ended)
        parts[ENGINE] -= parts[PASSES]
        parts[EVENT_LOOP] = loop
        parts[REST] = ended - began - sum(parts.values())
        decisions.append(parts)
    return decisions


def _main_thread_seconds(pid: int) -> float:
    """CPU seconds of a process's first thread, which runs the event loop."""
    nanoseconds = Path(f"/proc/{pid}/task/{pid}/schedstat").read_text().split()[0]
    return int(nanoseconds) / 1e9


def _table(inside: Sequence[PartSeconds], over_http: Sequence[PartSeconds]) -> list[str]:
    lines = [
        f"| {part} | {' | '.join(_cells(way, part) for way in (inside, over_http))} |"
        for part in (PASSES, PROMPT, CHECK, ENGINE, EVENT_LOOP, REST)
    ]
    shares = [_share_outside(way) for way in (inside, over_http)]
    cells = [f"| {share:.2%}, {'met' if share <= WANTED else '**short of the bar**'}" for share in shares]
    head = ["| part | in process | share | over HTTP | share |", "|---|---:|---:|---:|---:|"]
    return [*head, *lines, f"| outside the passes, at most {WANTED:.0%} | {' | '.join(cells)} |"]


def _cells(way: Sequence[PartSeconds], part: str) -> str:
    if part not in way[0]:
        return " | "
    seconds = float(np.median([parts[part] for parts in way]))
    return f"{seconds * 1000:.2f} | {np.median([parts[part] / sum(parts.values()) for parts in way]):.2%}"


def _share_outside(way: Sequence[PartSeconds]) -> float:
    return float(np.median([1 - parts[PASSES] / sum(parts.values()) for parts in way]))


if __name__ == "__main__":
    sys.exit(main())
