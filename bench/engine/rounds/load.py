"""W4: many clients at once, most with short texts of one schema, some with long ones."""

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import numpy as np

from bench.engine.contenders.http_client import Connection
from bench.engine.contenders.servers import LoadTarget
from bench.engine.measuring.cpu_time import cpu_seconds
from bench.engine.measuring.names import NO_TURNS, P95_WANTED, SERVER, THROUGHPUT_WANTED
from bench.engine.measuring.workloads import CLIENTS, DecisionBody, Workloads
from bench.engine.rounds.bars import row
from bench.engine.rounds.measure import Clock, ratio

LONG_CLIENTS = 4
IN_TURN, SHORT_ALONE = ", one after another", ", without the long ones"

NOTES = (
    (
        "W4: without turns is the adapter with SEMIF_TURN_TOKENS longer than any prompt: who comes first is "
        "answered first. The adapter's deadline is an hour here, since llama-server has none."
    ),
    (
        f"W4: {CLIENTS - LONG_CLIENTS} clients send short texts of one schema, {LONG_CLIENTS} a long text "
        "each, all at once; texts are new for every measurement. llama-server gets them "
        "with one slot and with four."
    ),
)


@dataclass(frozen=True)
class Script:
    """What one client sends, one after another."""

    is_long: bool
    decisions: tuple[DecisionBody, ...]


def scripts(
    workloads: Workloads, number: int, *, short: int, long_tokens: int
) -> Callable[[str], list[Script]]:
    """Makes what all clients send, for each measurement (by its name) other texts of the same lengths.

    A client with short texts sends `short` decisions, one with a long text one of `long_tokens` tokens.
    """

    def make(mark: str) -> list[Script]:
        clients = []
        for client in range(CLIENTS):
            is_long = client < LONG_CLIENTS
            made = (
                workloads.long(f"{number}-{mark}-{client}", long_tokens, 1)
                if is_long
                else workloads.short(f"{number}-{mark}", client, short)
            )
            clients.append(Script(is_long, tuple(made)))
        return clients

    return make


def run_loads(
    targets: Sequence[LoadTarget], make: Callable[[str], list[Script]], first: int
) -> dict[str, dict[str, Any]]:
    """Give the load to every target, beginning with another in each round; figures by name."""
    figures = {}
    start = first % len(targets)
    for target in (*targets[start:], *targets[:start]):
        if target.name == SERVER:
            name = target.name + IN_TURN
            figures[name] = _run(target, make(name), clients=1)
            name = target.name + SHORT_ALONE
            alone = [script for script in make(name) if not script.is_long]
            figures[name] = _run(target, alone, clients=len(alone))
        figures[target.name] = _run(target, make(target.name), clients=CLIENTS)
    return dict(sorted(figures.items(), key=lambda item: not item[0].startswith(SERVER)))


def _run(target: LoadTarget, sent: Sequence[Script], clients: int) -> dict[str, Any]:
    """Send what `sent` says over `clients` connections at once."""
    requests = [
        (script.is_long, [target.request(decision) for decision in script.decisions]) for script in sent
    ]
    lock = threading.Lock()
    short_seconds: list[float] = []
    refused: list[int] = []

    def client(place: int) -> None:
        with closing(Connection(target.address)) as connection:
            for is_long, asked in requests[place::clients]:
                for path, body in asked:
                    began = time.perf_counter()
                    status = connection.post(path, body)[0]
                    taken = time.perf_counter() - began
                    with lock:
                        if status != 200:
                            refused.append(status)
                        elif not is_long:
                            short_seconds.append(taken)

    cpu, began = cpu_seconds(target.pid), time.perf_counter()
    with ThreadPoolExecutor(clients) as threads:
        list(threads.map(client, range(clients)))
    wall, cpu = time.perf_counter() - began, cpu_seconds(target.pid) - cpu
    p50, p95 = np.quantile(short_seconds, (0.5, 0.95)) * 1000 if short_seconds else (np.nan, np.nan)
    return {
        "decisions_per_second": sum(len(script.decisions) for script in sent) / wall,
        "short_p50_ms": float(p50),
        "short_p95_ms": float(p95),
        "refused": len(refused),
        "cpu_seconds": cpu,
    }


def check(loads: dict[str, dict[str, list[Any]]], clock: Clock) -> list[dict[str, Any]]:
    """Rows for the table of bars: throughput of many clients, of that one after another; what turns do for
    short decisions, which is a matter of waiting and so of the wall clock."""
    if not loads:
        return []
    many, turn = loads[SERVER], loads[SERVER + IN_TURN]
    share = ratio(many["decisions_per_second"], turn["decisions_per_second"])
    cpu = ratio(turn["cpu_seconds"], many["cpu_seconds"])
    without = loads[NO_TURNS]
    rests = ratio(without["short_p95_ms"], many["short_p95_ms"])
    counts, other = (cpu, share) if clock == "cpu" else (share, cpu)
    return [
        row("W4 throughput", f"{SERVER} / {SERVER}{IN_TURN}", THROUGHPUT_WANTED, counts, other=other.median),
        row(
            "W4 short p95",
            f"{SERVER} / {NO_TURNS}",
            P95_WANTED,
            rests,
            other=None,
            remark="; by the wall clock",
        ),
    ]
