"""64 connections of valid, invalid and hanging-up clients against a real adapter, for ten minutes.

`make load` (SECONDS=60 for a short run, PRESET=name, MODE=batched) prints a summary and ends with status 1
where a request was lost, the server answered 5xx other than 503, a ping failed, or its memory grew.
"""

import argparse
import http.client
import json
import os
import random
import sys
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

from bench.engine.contenders.adapter_process import Served, decision, machine, seconds_to_run, write_report
from bench.robustness.watched import Watched
from semif_adapter.machine.memory import MAX_STATE_BYTES

CONNECTIONS = 64
KINDS = {"valid": 5, "several": 1, "invalid": 2, "hang-up": 2}
"""What a client sends next, by weight."""
LONGEST_WAIT_SECONDS = 5.0
"""How long a refused client waits at most; it would wait for what `retry_after_seconds` says."""
GROWTH_ALLOWED_BYTES = MAX_STATE_BYTES + 32 * 1024 * 1024  # beginnings that are saved are a cache, bounded
"""Between the tenth part of the run, when every buffer has been used, and its end."""

INVALID = (
    b"",
    b"{",
    b'{"decision": null}',
    b'{"decision": {"id": "a", "id": "b"}}',
    b'{"messages": []}',
    b'\xff\xfe{"decision": {}}',
    json.dumps(decision(0, words=20_000)).encode(),
)


class LoadClients:
    """The clients and what they saw."""

    def __init__(self, served: Served, ends_at: float) -> None:
        self._served = served
        self._ends_at = ends_at
        self._lock = threading.Lock()
        self.statuses: Counter[str] = Counter()
        self.lost: list[str] = []
        self.hang_ups = 0

    def client(self, number: int) -> None:
        """One connection, reopened after each hang-up, until the time is over."""
        chance = random.Random(number)
        connection = self._served.connect()
        count = 0
        while time.monotonic() < self._ends_at:
            count += 1
            (kind,) = chance.choices(list(KINDS), list(KINDS.values()))
            body = self._body(kind, number * 1_000_000 + count, chance)
            try:
                connection.request("POST", "/invocations", body, {"content-type": "application/json"})
                if kind == "hang-up":
                    time.sleep(chance.random() * 2)
                    connection.close()
                    with self._lock:
                        self.hang_ups += 1
                    continue
                reply = connection.getresponse()
                document = json.loads(reply.read())
            except (OSError, http.client.HTTPException, ValueError) as error:
                with self._lock:
                    self.lost.append(f"{kind}: {type(error).__name__}")
                connection.close()
                continue
            with self._lock:
                code = document.get("error", {}).get("code", "")
                self.statuses[f"{kind} {reply.status} {code}".strip()] += 1
            if reply.status == 503:
                time.sleep(min(document["retry_after_seconds"], LONGEST_WAIT_SECONDS))
        connection.close()

    @staticmethod
    def _body(kind: str, number: int, chance: random.Random) -> bytes:
        if kind == "invalid":
            return chance.choice(INVALID)
        one = decision(number, words=chance.randrange(5, 60))
        if kind != "several":
            return json.dumps(one).encode()
        questions = [{**one["decision"], "id": f"q{index}"} for index in range(3)]
        return json.dumps({"decisions": questions}).encode()


def main() -> int:
    """Run and report; the exit status."""
    argparse.ArgumentParser(prog="bench.robustness.soak", description=__doc__).parse_args()
    seconds = seconds_to_run()
    with Served(os.environ.get("PRESET", "embedded")) as served:
        before = machine()
        began = time.monotonic()
        mode = served.ask(decision(0))[1]["result"]["model"]["mode"]
        load = LoadClients(served, began + seconds)
        with Watched(served, seconds) as watched, ThreadPoolExecutor(CONNECTIONS) as threads:
            for task in [threads.submit(load.client, number) for number in range(CONNECTIONS)]:
                task.result()
        end = served.resident_bytes
        while served.metrics()["semif_in_flight"]:
            time.sleep(0.1)
        figures = served.metrics()
        exit_status = served.stop()
    report = {
        "seconds": round(time.monotonic() - began, 1),
        "mode": mode,
        "connections": CONNECTIONS,
        "machine_before": before,
        "machine_after": machine(),
        "statuses": dict(sorted(load.statuses.items())),
        "hang_ups": load.hang_ups,
        "lost": load.lost,
        "server_requests": {name: value for name, value in figures.items() if "requests_total" in name},
        "decisions": figures["semif_decisions_total"],
        "tokens_per_second": round(figures["semif_tokens_per_second"], 1),
        **watched.report(),
        "exit_status": exit_status,
    }
    growth = end - watched.memory[1]
    faults = [status for status in load.statuses if " 5" in status and " 503" not in status]
    refused = faults or load.lost or watched.bad_pings or exit_status or growth > GROWTH_ALLOWED_BYTES
    report["verdict"] = "failed" if refused else "passed"
    write_report("soak", report)
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main())
