"""Contenders behind a socket: the adapter, and llama-server in each of the ways to ask it."""

from collections.abc import Sequence
from contextlib import closing
from fnmatch import fnmatchcase
from typing import Any

import numpy as np

from bench.engine.contenders.contender import PreparedCase, document
from bench.engine.contenders.http_client import Connection, need_all
from bench.engine.measuring.plan import FULL_PROMPT_TOKENS
from bench.engine.measuring.workloads import CLIENTS, Case, DecisionBody
from semif_adapter.llama.model import Tokens

SHARED_STATES = ("W2 50 tokens x 8", "W2 300 tokens x 8")
"""Cases in which llama-server's default has a bar, asked one after another and all at once."""
SYSTEM_ONE_CASES = ("W1 *", *SHARED_STATES)
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

    def covers(self, _case: Case) -> bool:
        """All."""
        return True

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
    """llama-server over HTTP: one POST /completion a decision.

    Where it says that it found nothing of a second prompt in its cache, as on hybrid models, as many make the
    case as are measured of full prompts: from scratch each takes as long as the next.
    """

    def __init__(self, name: str, pid: int, address: str, cases: Sequence[str] | None = None) -> None:
        """Where `cases` names some, it takes part in these alone."""
        self.name = name
        self.pid = pid
        self._address = address
        self._cases = cases

    def covers(self, case: Case) -> bool:
        """Those it was made for; by default all."""
        return self._cases is None or case.name in self._cases

    def run(self, prepared: PreparedCase) -> float:
        """Ask."""
        documents = [completion(segments) for request in prepared.prompts for segments in request]
        lengths = [len(document["prompt"]) for document in documents]
        asked, cached = 0, 0
        with closing(Connection(self._address)) as connection:
            for place, document in enumerate(documents):
                timings = connection.need("/completion", document).get("timings", {})
                asked += lengths[place]
                # No cache knows the first prompt: it is the second that shares something with one before.
                cached += timings.get("cache_n", 1) if place else 0
                if place and not cached and asked >= FULL_PROMPT_TOKENS:
                    break
        return sum(lengths) / asked


class LlamaAtOnce:
    """llama-server over HTTP, all questions of a request at once.

    The process is the one that is asked one after another too, and its slots remember: the state's tokens are
    sent in reverse, which takes as long and is nothing that they know.
    """

    def __init__(self, name: str, pid: int, address: str) -> None:
        self.name = name
        self.pid = pid
        self._address = address

    def covers(self, case: Case) -> bool:
        """SHARED_STATES."""
        return case.name in SHARED_STATES

    def run(self, prepared: PreparedCase) -> float:
        """Ask."""
        for request in prepared.prompts:
            documents = [completion((head, state[::-1], *rest)) for head, state, *rest in request]
            need_all(self._address, "/completion", documents, CLIENTS)
        return 1.0


class LlamaSystemOne:
    """llama.cpp's own decision API: one POST /v1/systemone a request."""

    name = "llama-server /v1/systemone"

    def __init__(self, pid: int, address: str) -> None:
        self.pid = pid
        self._address = address

    def covers(self, case: Case) -> bool:
        """SYSTEM_ONE_CASES: it has no bar."""
        return any(fnmatchcase(case.name, pattern) for pattern in SYSTEM_ONE_CASES)

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
