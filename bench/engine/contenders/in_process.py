"""Contenders in the process that measures: the adapter's engine, and the same work by hand."""

import os

import numpy as np

from bench.engine.contenders.contender import PreparedCase
from bench.engine.measuring.names import ENGINE, JOINED
from bench.engine.measuring.workloads import Case
from semif_adapter.decoding.steps import decode
from semif_adapter.engine.engine import Engine
from semif_adapter.llama.context import Context
from semif_adapter.llama.model import Tokens

BASELINE_BATCH_TOKENS = 512
"""Of a decode and a micro-batch of the strategies and the limit: llama.cpp's default micro-batch."""
FULL_PROMPT_TOKENS = 600
"""Of a request of many questions so many tokens are measured, and at least one prompt; from scratch each
takes as long as the next."""


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

    name = ENGINE

    def __init__(self, engine: Engine) -> None:
        self.pid = os.getpid()
        self._engine = engine

    def covers(self, case: Case) -> bool:  # noqa: ARG002 - no case is left out
        """All."""
        return True

    def run(self, prepared: PreparedCase) -> float:
        """One `score` a request."""
        for questions in prepared.questions:
            self._engine.score(questions, prepared.case.layout)
        return 1.0


class JoinedEngine(InProcessEngine):
    """The same in joined mode."""

    name = JOINED

    def covers(self, case: Case) -> bool:
        """Where there are questions to be joined."""
        return any(len(request) > 1 for request in case.requests)
