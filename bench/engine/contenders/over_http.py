"""Contenders behind a socket: the adapter, and llama-server in each of the ways to ask it."""

from collections.abc import Sequence
from contextlib import closing
from typing import Any

import numpy as np

from bench.engine.contenders.contender import PreparedCase, document
from bench.engine.contenders.http_client import Connection, need_all
from bench.engine.measuring.workloads import CLIENTS, QUESTION_COUNTS, Case, DecisionBody
from semif_adapter.llama.model import Tokens

AT_ONCE = ("W2 50 tokens x 8", "W2 300 tokens x 8")
"""Cases in which llama-server is also asked all questions of a state together."""
LONG_STATES, LONGEST = "W2 1800 ", "W2 1800 tokens x 21"
"""Cases that take most of a run: only those take part who have a bar there or set one."""
PROBABILITIES = 10
"""How many of its one token's probabilities llama-server is asked for."""


class SemifServer:
    """The adapter over HTTP: one POST /invocations a request."""

    name = "semif"

    def __init__(self, pid: int, address: str) -> None:
        self.pid = pid
        self._address = address
        self.last: list[dict[str, Any]] = []
        """Results of the last run, in order."""

    def covers(self, case: Case) -> bool:
        """All but the longest case."""
        return case.name != LONGEST

    def run(self, prepared: PreparedCase) -> float:
        """Ask, and keep the results."""
        self.last = []
        with closing(Connection(self._address)) as connection:
            for decisions in prepared.case.requests:
                body = connection.need("/invocations", document(prepared.case, decisions))
                self.last += [body["result"]] if "result" in body else body["results"]
        return 1.0


def completion(segments: Sequence[Tokens]) -> dict[str, Any]:
    """A request for one token with its probabilities."""
    return {
        "prompt": np.concatenate(segments).tolist(),
        "n_predict": 1,
        "n_probs": PROBABILITIES,
        "temperature": 0.0,
        "cache_prompt": True,
    }


class LlamaCompletion:
    """llama-server over HTTP: one POST /completion a decision."""

    def __init__(self, name: str, pid: int, address: str, *, takes_long: bool) -> None:
        self.name = name
        self.pid = pid
        self._address = address
        self._takes_long = takes_long

    def covers(self, case: Case) -> bool:
        """All but the longest case, and those of long states only if it was said so."""
        return not case.name.startswith(LONG_STATES) or (self._takes_long and case.name != LONGEST)

    def run(self, prepared: PreparedCase) -> float:
        """Ask."""
        documents = [completion(segments) for request in prepared.prompts for segments in request]
        need_all(self._address, "/completion", documents, 1)
        return 1.0


class LlamaAtOnce:
    """llama-server over HTTP, all questions of a request at once."""

    def __init__(self, name: str, pid: int, address: str) -> None:
        self.name = name
        self.pid = pid
        self._address = address

    def covers(self, case: Case) -> bool:
        """Where a state of at most 300 tokens has several questions, and not very many."""
        return case.name in AT_ONCE

    def run(self, prepared: PreparedCase) -> float:
        """Ask."""
        for request in prepared.prompts:
            documents = [completion(segments) for segments in request]
            need_all(self._address, "/completion", documents, CLIENTS)
        return 1.0


class LlamaSystemOne:
    """llama.cpp's own decision API: one POST /v1/systemone a request."""

    name = "llama-server /v1/systemone"

    def __init__(self, pid: int, address: str) -> None:
        self.pid = pid
        self._address = address

    def covers(self, case: Case) -> bool:
        """All but long states and very many questions, which tell nothing new."""
        most = max(map(len, case.requests))
        return most < max(QUESTION_COUNTS) and not case.name.startswith(LONG_STATES)

    def run(self, prepared: PreparedCase) -> float:
        """Ask."""
        with closing(Connection(self._address)) as connection:
            for decisions in prepared.case.requests:
                body = _system_one_body(decisions)
                answers = connection.need("/v1/systemone", body)["answers"]
                if len(answers) != len(decisions):
                    raise RuntimeError(f"{len(decisions)} questions got {len(answers)} answers")
        return 1.0


def _system_one_body(decisions: Sequence[DecisionBody]) -> dict[str, Any]:
    questions = {
        decision["id"]: {
            "type": "choice",
            "instructions": decision["question"],
            "criteria": {option["id"]: option.get("description") for option in decision["options"]},
        }
        for decision in decisions
    }
    return {"model": "jev-latest", "state": decisions[0]["state"], "questions": questions}
