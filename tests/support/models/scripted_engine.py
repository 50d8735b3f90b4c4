"""The engine's door with a script behind it, for what real weights cannot give."""

import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from semif_adapter.contract.question import Question
from semif_adapter.contract.wire import Layout, Result, ResultTiming, SharedTiming
from semif_adapter.decoding.steps import Steps, forward
from semif_adapter.engine.computation import Computation, RequestResult, TokenCost
from semif_adapter.engine.scheduler import Scheduler
from semif_adapter.llama.context import Pass, Rows
from tests.support.models.model_info import model_info

INFO = model_info(name="scripted", file="scripted.gguf")
TURN = 512


class ScriptedContext:
    """Forward passes that take as long as the script says."""

    most_tokens = 2048

    def __init__(self, before: Callable[[Sequence[Question]], None]) -> None:
        self.requests: list[Sequence[Question]] = []
        """By sequence: each request has one."""
        self.passes: list[Sequence[Question]] = []
        """Whose passes were run, in order."""
        self.abandoned = threading.Event()
        self._before = before

    def run(self, passes: Sequence[Pass]) -> list[Rows]:
        for part in passes:
            self.passes.append(self.requests[part.sequence])
            self._before(self.requests[part.sequence])
        return [np.zeros((0, 1), np.float32) for _ in passes]

    def stop(self) -> None:
        self.abandoned.set()

    def resume(self) -> None:
        pass


class ScriptedEngine:
    """Answers as the script says: slow, failing, NaN.

    Its forward passes have `TURN` tokens at most; the turns are the engine's own.
    """

    info = INFO
    step_tokens = 2048
    moved_at = 0.0
    slowest_step_seconds = 0.0
    request_bytes = 1 << 30
    longest_text_bytes = 0

    def __init__(
        self,
        before: Callable[[Sequence[Question]], None] = lambda _: None,
        logit: float = 1.0,
        *,
        tokens: int | Callable[[Sequence[Question]], int] = 1,
        tokens_per_second: float = 1000.0,
        prove: Callable[[], None] = lambda: None,
        tokenize: Callable[[Question], None] = lambda _: None,
    ) -> None:
        """`tokens` is what each request takes, `prove` what the engine does after a fault.

        `tokenize` takes as long as each question's words take.
        """
        self.calls: list[tuple[Sequence[Question], Layout]] = []
        self.closed = False
        self.tokens_per_second = tokens_per_second
        self.prove = prove
        self._tokenize = tokenize
        self._tokens = tokens if callable(tokens) else lambda _: tokens
        self._logit = logit
        context: Any = ScriptedContext(before)
        self.abandoned: threading.Event = context.abandoned
        self.passes: list[Sequence[Question]] = context.passes
        self._requests: list[Sequence[Question]] = context.requests
        self.scheduler = Scheduler(context, turn_tokens=TURN, shares_passes=False, forget=lambda: None)

    def prepare(
        self, questions: Sequence[Question], layout: Layout, go_on: Callable[[], None] = lambda: None
    ) -> Computation:
        for question in questions:
            go_on()
            self._tokenize(question)
        tokens = self._tokens(questions)
        return Computation((), TokenCost(tokens), lambda _: self._steps(questions, layout, tokens))

    def begin(self, computation: Computation) -> None:
        self.scheduler.add(computation)

    def _steps(self, questions: Sequence[Question], layout: Layout, tokens: int) -> Steps[RequestResult]:
        self.calls.append((questions, layout))
        self._requests.append(questions)
        yield from forward(len(self._requests) - 1, 0, np.zeros(tokens, np.int32), 0, TURN)
        timing = SharedTiming(
            batch_size=len(questions),
            prefix_tokens=1,
            prefill_seconds=0,
            suffix_forward_seconds=0,
            total_seconds=0,
        )
        return RequestResult([self._result(question) for question in questions], timing)

    def _result(self, question: Question) -> Result:
        count = len(question.options)
        return Result(
            id=question.id,
            option_ids=tuple(option.id for option in question.options),
            probabilities=(1 / count,) * count,
            option_logits=(self._logit,) * count,
            allowed_token_mass=1.0,
            input_tokens=1,
            cached_tokens=0,
            prompt_version="scripted",
            prompt_sha256="0" * 64,
            readout="letters",
            timing=ResultTiming(suffix_forward_seconds=0, total_seconds=0),
            model=INFO,
        )

    def close(self) -> None:
        self.closed = True
