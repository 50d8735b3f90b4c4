"""Mutated requests and misused connections (`hostile.py`) against a real adapter, for ten minutes.

`make fuzz` (SECONDS=60 for a short run, SEED=number to repeat one, PRESET=name, MODE=batched) prints a
summary and ends with status 1 where the process died, failed a ping, answered a client's mistake with a 5xx,
broke its JSON, showed or logged a caller's text, grew, or answered a good request otherwise than before: in
any bit, or in batched mode further off than company moves it.
"""

import argparse
import http.client
import json
import os
import random
import socket
import sys
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from statistics import median

from bench.engine.contenders.adapter_process import (
    HOST,
    Served,
    decision,
    machine,
    seconds_to_run,
    write_report,
)
from bench.robustness.hostile import compressed, decision_of, misbehave, slow_text, statuses
from bench.robustness.mutations import SECRET, mutate, scramble, valid
from bench.robustness.watched import Watched
from semif_adapter.machine.memory import MAX_STATE_BYTES

SENDERS = 4
CANARY_EVERY_SECONDS = 10.0
GROWTH_ALLOWED_BYTES = MAX_STATE_BYTES + 32 * 1024 * 1024  # beginnings that are saved are a cache, bounded
"""Between the medians of the two halves of the run; single samples hold what is being computed just then."""
BATCHED_TOLERANCE = 5.0
"""Of a logit of the embedded model; company moves one by up to 2.6 (docs/measured/performance-batched.md)."""
RAW_SECONDS = 3.0
"""How long a sender waits for the reply to bytes that may not be a whole request."""
GOOD_STATUSES = {200, 400, 401, 404, 405, 408, 413, 415, 422, 429, 431, 503}

PATHS = (
    ["/invocations"] * 8
    + ["/v1/systemone", "/v1/decisions"] * 4
    + ["/", "/ping", "/metrics", "/v1/models", "/%00", f"/{SECRET}"]
)
CONTENT_TYPES = ["application/json"] * 12 + ["", "text/plain", "application/json; charset=latin-1", "a/b;;;"]
ENCODINGS = [None] * 12 + ["gzip", "zstd", "br", "identity", "gzip, zstd", SECRET]


class Fuzz:
    """The senders and what they found."""

    def __init__(self, served: Served, ends_at: float) -> None:
        self._served = served
        self._ends_at = ends_at
        self._lock = threading.Lock()
        self.statuses: Counter[str] = Counter()
        self.findings: list[str] = []
        self.requests = 0

    def sender(self, seed: int) -> None:
        """Send until the time is over."""
        chance = random.Random(seed)
        while time.monotonic() < self._ends_at and len(self.findings) < 20:
            case = chance.getrandbits(64)
            try:
                self._one(random.Random(case))
            except Exception as error:  # noqa: BLE001 - a finding, whatever it is
                self.find(f"case {case}: {type(error).__name__}: {error}")

    def find(self, finding: str) -> None:
        """Something that must not be."""
        with self._lock:
            self.findings.append(finding)

    def _one(self, chance: random.Random) -> None:
        document = valid(chance)
        if chance.random() < 0.7:
            document = mutate(document, chance)
        body = json.dumps(document).encode()
        if chance.random() < 0.3:
            body = scramble(body, chance)
        with self._lock:
            self.requests += 1
        match chance.random():
            case share if share < 0.15:
                self._raw(body, chance)
            case share if share < 0.3:
                self._misbehave(body, chance)
            case share if share < 0.33:
                text = decision_of(slow_text(chance))
                if chance.random() < 0.5:
                    self._http(*compressed(text, chance), chance)
                else:
                    self._http(None, text, chance)
            case share if share < 0.45:
                self._http(*compressed(body, chance), chance)
            case _:
                self._http(chance.choice(ENCODINGS), body, chance)

    def _misbehave(self, body: bytes, chance: random.Random) -> None:
        with socket.create_connection((HOST, self._served.port), timeout=RAW_SECONDS) as connection:
            try:
                answers = misbehave(connection, body, chance)
            except OSError:
                self._count("broken off")
                return
        if answers is None:
            self._count("reset by the client")
            return
        for status in statuses(answers):
            self._judge(status, "", b"")

    def _count(self, outcome: str) -> None:
        with self._lock:
            self.statuses[outcome] += 1

    def _http(self, encoding: str | None, body: bytes, chance: random.Random) -> None:
        headers = {"content-type": chance.choice(CONTENT_TYPES), "connection": "close"}
        if encoding is not None:
            headers["content-encoding"] = encoding
        if chance.random() < 0.05:
            headers["x-amzn-sagemaker-custom-attributes"] = chance.choice(["a" * 2000, "\xe9", "ok", " "])
        method = chance.choice(["POST"] * 20 + ["GET", "PUT", "DELETE", "BREW"])
        chunked = chance.random() < 0.2
        # Not so many that the server tires of throwing them away, where it has answered already: it gives the
        # rest of a body two seconds here, too little for fifty thousand pieces on a busy machine.
        size = max(7, len(body) // 5_000)
        connection = self._served.connect()
        try:
            connection.request(
                method,
                chance.choice(PATHS),
                iter([body[at : at + size] for at in range(0, len(body), size)]) if chunked else body,
                headers,
                encode_chunked=chunked,
            )
            reply = connection.getresponse()
            self._judge(reply.status, reply.headers.get("content-type", ""), reply.read())
        finally:
            connection.close()

    def _raw(self, body: bytes, chance: random.Random) -> None:
        length = chance.choice([len(body), len(body) + 5, max(0, len(body) - 5), -1, 10**20])
        head = b"POST /invocations HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        head += chance.choice([b"Content-Length: %d\r\n" % length, b"Transfer-Encoding: chunked\r\n", b""])
        request = head + b"Connection: close\r\n\r\n" + body
        if chance.random() < 0.5:
            request = scramble(request, chance)
        with socket.create_connection((HOST, self._served.port), timeout=RAW_SECONDS) as connection:
            try:
                connection.sendall(request)
                if chance.random() < 0.5:
                    return  # hang up
                connection.shutdown(socket.SHUT_WR) if chance.random() < 0.2 else None
                reply = http.client.HTTPResponse(connection)
                reply.begin()
                self._judge(reply.status, reply.headers.get("content-type", ""), reply.read())
            except (OSError, http.client.HTTPException):
                self._count("no reply to bytes that are no whole request")

    def _judge(self, status: int, content_type: str, body: bytes) -> None:
        self._count(str(status))
        if status not in GOOD_STATUSES:
            self.find(f"status {status}: {body[:300]!r}")
        if content_type.startswith("application/json") and body:
            json.loads(body, parse_constant=lambda constant: self.find(f"{constant} in a reply"))
        if status != 200 and SECRET.encode() in body:
            self.find(f"a caller's text in a reply: {body[:300]!r}")


def main() -> int:
    """Run and report; the exit status."""
    argparse.ArgumentParser(prog="bench.robustness.fuzz", description=__doc__).parse_args()
    sys.setrecursionlimit(20_000)  # some requests are nested 500 deep and more, and copying them recurses
    seconds = seconds_to_run()
    seed = int(os.environ.get("SEED") or random.SystemRandom().getrandbits(32))
    print(f"bench.robustness.fuzz: seed {seed}, {seconds:g} s")
    with Served(os.environ.get("PRESET", "embedded"), SEMIF_BODY_SECONDS="2") as served:
        before = machine()
        began = time.monotonic()
        fuzz = Fuzz(served, began + seconds)
        good, invariant, mode = answer(served)
        asked_again = partial(is_answered_alike, served, good, 0.0 if invariant else BATCHED_TOLERANCE)
        canaries = 0
        with Watched(served, seconds) as watched, ThreadPoolExecutor(SENDERS) as threads:
            running = [threads.submit(fuzz.sender, seed + number) for number in range(SENDERS)]
            while not all(task.done() for task in running):
                time.sleep(min(CANARY_EVERY_SECONDS, seconds / 10))
                if not served.is_alive:
                    fuzz.find("the process died")
                    break
                canaries += 1
                if not asked_again():
                    fuzz.find("a good request was answered otherwise than before")
        if served.is_alive:
            if not asked_again():
                fuzz.find("a good request was answered otherwise than before")
            exit_status = served.stop()
            if exit_status:
                fuzz.find(f"the process ended with status {exit_status}")
        if watched.bad_pings:
            fuzz.find(f"{watched.bad_pings} pings failed")
        half = len(watched.memory) // 2
        if half and median(watched.memory[half:]) - median(watched.memory[:half]) > GROWTH_ALLOWED_BYTES:
            fuzz.find("the process grew")
        if any(SECRET in line for line in served.log):
            fuzz.find("a caller's text in the log")
    report = {
        "seed": seed,
        "seconds": round(time.monotonic() - began, 1),
        "machine_before": before,
        "machine_after": machine(),
        "requests": fuzz.requests,
        "statuses": dict(sorted(fuzz.statuses.items())),
        "canaries": canaries + 1,
        "mode": mode,
        "canaries_must_be_bit_identical": invariant,
        **watched.report(),
        "findings": fuzz.findings,
        "verdict": "failed" if fuzz.findings else "passed",
    }
    write_report("fuzz", report)
    return 1 if fuzz.findings else 0


def answer(served: Served) -> tuple[list[float], bool, str]:
    """The logits of a good request, whether each bit of them is promised, the mode; the queue may be full."""
    while True:
        status, reply = served.ask(decision(1))
        if status == 200:
            result = reply["result"]
            return list(result["option_logits"]), bool(result["model"]["invariant"]), result["model"]["mode"]
        if status != 503:
            raise SystemExit(f"a good request got {status}: {reply}")
        time.sleep(reply["retry_after_seconds"])


def is_answered_alike(served: Served, good: list[float], tolerance: float) -> bool:
    """Whether the good request still gets the logits `good`, each up to `tolerance`."""
    logits, *_ = answer(served)
    return all(abs(one - other) <= tolerance for one, other in zip(logits, good, strict=True))


if __name__ == "__main__":
    sys.exit(main())
