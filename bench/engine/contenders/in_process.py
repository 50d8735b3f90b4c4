"""Contenders in the process that measures: the adapter's engine, and the same work by hand."""

import os
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from itertools import groupby

import numpy as np

from bench.engine.contenders.contender import PreparedCase
from bench.engine.measuring.names import ENGINE, FULL, JOINED, LIMIT, RESTORE
from bench.engine.measuring.plan import FULL_PROMPT_TOKENS
from bench.engine.measuring.workloads import Case
from semif_adapter.decoding.steps import complete, decode, forward
from semif_adapter.decoding.tiles import Tiles
from semif_adapter.engine.engine import Engine
from semif_adapter.llama.context import Context
from semif_adapter.llama.model import Tokens

BASELINE_BATCH_TOKENS = 512
"""Of a decode and a micro-batch of the strategies and the limit: llama.cpp's default micro-batch."""
FULL_PROMPT_CASES = ("W1 *", "W2 * x 8", "W3 *")
"""Cases in which whole prompts have a bar or a place in a page; elsewhere they tell nothing new."""


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

    name = FULL

    def covers(self, case: Case) -> bool:
        """FULL_PROMPT_CASES."""
        return any(fnmatchcase(case.name, pattern) for pattern in FULL_PROMPT_CASES)

    def run(self, prepared: PreparedCase) -> float:
        prompts = [np.concatenate(segments) for request in prepared.prompts for segments in request]
        shares_state = any(len(request) > 1 for request in prepared.prompts)
        measured = prompts[: max(1, FULL_PROMPT_TOKENS // len(prompts[0]))] if shares_state else prompts
        for tokens in measured:
            self._start()
            decode(self._context, 0, 0, tokens, 1)
        return sum(map(len, prompts)) / sum(map(len, measured))


class StateRestore(_InProcess):
    """Each request's state once; its memory saved, and put back before every question but the first.

    It is kept for a case's follow-up, and for nothing else.
    """

    name = RESTORE
    _kept = np.empty(0, np.uint8)

    def run(self, prepared: PreparedCase) -> float:
        saved, self._kept = self._kept, np.empty(0, np.uint8)
        for request in prepared.prompts:
            prefix = np.concatenate(request[0][:2])
            if not saved.size:
                self._start()
                decode(self._context, 0, 0, prefix)
            must_restore = saved.size > 0
            if not must_restore and (len(request) > 1 or prepared.follow_up):
                saved = self._context.save(0)
            for segments in request:
                if must_restore:
                    self._context.restore(0, saved)
                decode(self._context, 0, len(prefix), np.concatenate(segments[2:]), 1)
                must_restore = True
            if prepared.follow_up:
                self._kept = saved
            saved = np.empty(0, np.uint8)
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
    are there, in one decode, together with what follows where a single prompt has that prefix; then all that
    differs in as few as full micro-batches make, around the depth of context that it has in the prompts.
    Short passes are padded where the adapter's rule says so."""

    name = LIMIT
    _system = np.empty(0, np.int32)
    _saved = np.empty(0, np.uint8)

    def __init__(self, context: Context, tiles: Tiles | None) -> None:
        super().__init__(context)
        self._tiles = tiles
        self._left = np.empty(0, np.int32)
        """The prefix that the context still holds for a follow-up."""
        self._end = 0
        """Tokens that the context holds."""

    def run(self, prepared: PreparedCase) -> float:
        left, self._left = self._left, np.empty(0, np.int32)
        for prompts in _with_one_prefix([segments for request in prepared.prompts for segments in request]):
            system, shared, _ = prompts[0]
            prefix = np.concatenate((system, shared))
            rest = [tokens for _, _, tokens in prompts]
            if np.array_equal(prefix, left):
                self._finish(prefix, rest)
            elif len(rest) == 1:
                self._start_behind(system)
                self._decode(len(system), np.concatenate((shared, *rest)), 1)
            else:
                self._start_behind(system)
                self._decode(len(system), shared)
                self._finish(prefix, rest)
            if prepared.follow_up:
                self._left = prefix
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
        tokens = np.concatenate(rest)
        mean = len(tokens) // len(rest)
        for part in np.array_split(tokens, -(-len(tokens) // BASELINE_BATCH_TOKENS)):
            depth = max(0, len(prefix) - max(0, len(part) - mean) // 2)
            # A hybrid model cannot go back; most of its layers do not know how deep they are.
            self._decode(depth if self._context.cut(0, depth) else self._end, part, 1)

    def _decode(self, position: int, tokens: Tokens, wanted: int = 0) -> None:
        context = self._context
        self._end = position + len(tokens)
        complete(forward(0, position, tokens, wanted, context.batch_tokens, tiles=self._tiles), context.run)


def _with_one_prefix(prompts: Sequence[tuple[Tokens, ...]]) -> Iterator[list[tuple[Tokens, Tokens, Tokens]]]:
    """Prompts in a row that begin alike: of each the system's words, what is shared, and the rest."""
    parts = [(system, shared, np.concatenate(rest)) for system, shared, *rest in prompts]
    for _, group in groupby(parts, key=lambda part: (part[0].tobytes(), part[1].tobytes())):
        yield list(group)


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
