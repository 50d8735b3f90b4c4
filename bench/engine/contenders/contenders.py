"""Who makes the decisions: the adapter and what it is compared with. All get the same prompts and threads."""

import os
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from bench.engine.contenders.http_client import Connection, need_all
from bench.engine.measuring.workloads import CLIENTS, QUESTION_COUNTS, Case, DecisionBody
from semif_adapter.contract.question import Question
from semif_adapter.contract.wire import DecisionRequest, DecisionsRequest
from semif_adapter.decoding.steps import decode
from semif_adapter.engine.engine import Engine
from semif_adapter.forms.decisions import to_questions
from semif_adapter.llama.context import Context
from semif_adapter.llama.model import Tokens

BASELINE_BATCH_TOKENS = 512
"""Of a decode and a micro-batch of the strategies and the limit: llama.cpp's default micro-batch."""
FULL_PROMPT_TOKENS = 600
"""Of a request of many questions so many tokens are measured, and at least one prompt; from scratch each
takes as long as the next."""
AT_ONCE = ("W2 50 tokens x 8", "W2 300 tokens x 8")
"""Cases in which llama-server is also asked all questions of a state together."""
LONG_STATES, LONGEST = "W2 1800 ", "W2 1800 tokens x 21"
"""Cases that take most of a run: only those take part who have a bar there or set one."""
PROBABILITIES = 10
"""How many of its one token's probabilities llama-server is asked for."""


@dataclass(frozen=True)
class PreparedCase:
    """A case with its prompts, cut as the adapter cuts them: one tuple of segments a decision."""

    case: Case
    questions: tuple[Sequence[Question], ...]
    prompts: tuple[tuple[tuple[Tokens, ...], ...], ...]


def prepare_case(engine: Engine, case: Case) -> PreparedCase:
    """Write and tokenise the prompts of `case` with the adapter's own writer."""
    questions = [to_questions(_request(case, decisions))[0] for decisions in case.requests]
    prompts = []
    for asked in questions:
        tasks = [task for group in engine.prepare(asked, case.layout).groups for task in group]
        prompts.append(tuple(task.prompts[0].segments for task in tasks))
    return PreparedCase(case, tuple(questions), tuple(prompts))


def document(case: Case, decisions: Sequence[DecisionBody]) -> dict[str, Any]:
    """The body of one request to the adapter."""
    return {"decision": decisions[0]} if case.layout == "schema-first" else {"decisions": list(decisions)}


def _request(case: Case, decisions: Sequence[DecisionBody]) -> DecisionRequest | DecisionsRequest:
    body = document(case, decisions)
    kind = DecisionRequest if "decision" in body else DecisionsRequest
    return kind.model_validate(body, strict=False)


class Contender(Protocol):
    """One way to make the decisions of a job."""

    name: str
    pid: int
    """The process that does the work."""

    def covers(self, _case: Case, /) -> bool:
        """Whether the case says anything about this one."""
        ...

    def run(self, prepared: PreparedCase) -> float:
        """Make the decisions; by how much to multiply the time, where only a part of them was made."""
        ...


class _InProcess:
    def __init__(self, context: Context) -> None:
        self.pid = os.getpid()
        self._context = context

    def covers(self, _case: Case) -> bool:
        return True

    def _start(self) -> None:
        if not self._context.cut(0, 0):
            raise RuntimeError("llama.cpp could not clear a sequence")


class FullPrompt(_InProcess):
    """Every decision from scratch, its whole prompt in one decode."""

    name = "full prompt"

    def covers(self, case: Case) -> bool:
        """All but single questions about one state, where state restore is the same."""
        return not case.name.startswith("W2") or case.decisions > 1

    def run(self, prepared: PreparedCase) -> float:
        prompts = [np.concatenate(segments) for request in prepared.prompts for segments in request]
        shares_state = any(len(request) > 1 for request in prepared.prompts)
        measured = prompts[: max(1, FULL_PROMPT_TOKENS // len(prompts[0]))] if shares_state else prompts
        for tokens in measured:
            self._start()
            decode(self._context, 0, 0, tokens, 1)
        return sum(map(len, prompts)) / sum(map(len, measured))


class StateRestore(_InProcess):
    """Each request's state once; its memory saved, and put back before every question but the first."""

    name = "state restore"

    def run(self, prepared: PreparedCase) -> float:
        for request in prepared.prompts:
            prefix = np.concatenate(request[0][:2])
            self._start()
            decode(self._context, 0, 0, prefix)
            saved = self._context.save(0) if len(request) > 1 else None
            for index, segments in enumerate(request):
                if index and saved is not None:
                    self._context.restore(0, saved)
                decode(self._context, 0, len(prefix), np.concatenate(segments[2:]), 1)
        return 1.0


class SchemaRestore(_InProcess):
    """As state restore, the other way round: the schema once, put back before every state."""

    name = "schema restore"

    def covers(self, case: Case) -> bool:
        return case.name.startswith("W1")

    def run(self, prepared: PreparedCase) -> float:
        prefix, saved = np.empty(0, np.int32), None
        for (segments,) in prepared.prompts:
            wanted = np.concatenate(segments[:2])
            if saved is not None and np.array_equal(wanted, prefix):
                self._context.restore(0, saved)
            else:
                self._start()
                decode(self._context, 0, 0, wanted)
                prefix, saved = wanted, self._context.save(0)
            decode(self._context, 0, len(prefix), np.concatenate(segments[2:]), 1)
        return 1.0


class Limit(_InProcess):
    """Prompt processing of the tokens that nobody can avoid: each prefix behind the system's words, which
    are there, in one decode; then all that differs in as few as full micro-batches make, around the depth of
    context that it has in the prompts."""

    name = "the limit"
    _system = np.empty(0, np.int32)
    _saved = np.empty(0, np.uint8)

    def run(self, prepared: PreparedCase) -> float:
        prompts = [segments for request in prepared.prompts for segments in request]
        rest: list[Tokens] = []
        prefix = np.empty(0, np.int32)
        for segments in prompts:
            wanted = np.concatenate(segments[:2])
            if not np.array_equal(wanted, prefix):
                self._finish(prefix, rest)
                prefix, rest = wanted, []
                self._start_behind(segments[0])
                decode(self._context, 0, len(segments[0]), segments[1])
            rest.append(np.concatenate(segments[2:]))
        self._finish(prefix, rest)
        return 1.0

    def _start_behind(self, system: Tokens) -> None:
        """The system's words alone; computed the first time, which is in the warm-up."""
        if np.array_equal(system, self._system):
            self._context.restore(0, self._saved)
            return
        self._start()
        decode(self._context, 0, 0, system)
        self._system, self._saved = system, self._context.save(0)

    def _finish(self, prefix: Tokens, rest: list[Tokens]) -> None:
        if not rest:
            return
        tokens = np.concatenate(rest)
        mean = len(tokens) // len(rest)
        position = len(prefix)
        for part in np.array_split(tokens, -(-len(tokens) // BASELINE_BATCH_TOKENS)):
            depth = max(0, len(prefix) - max(0, len(part) - mean) // 2)
            # A hybrid model cannot go back; most of its layers do not know how deep they are.
            if self._context.cut(0, depth):
                position = depth
            decode(self._context, 0, position, part, 1)
            position += len(part)


class InProcessEngine:
    """The adapter's engine, called directly."""

    name = "semif engine"

    def __init__(self, engine: Engine) -> None:
        self.pid = os.getpid()
        self._engine = engine

    def covers(self, _case: Case) -> bool:
        """All."""
        return True

    def run(self, prepared: PreparedCase) -> float:
        """One `score` a request."""
        for questions in prepared.questions:
            self._engine.score(questions, prepared.case.layout)
        return 1.0


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
