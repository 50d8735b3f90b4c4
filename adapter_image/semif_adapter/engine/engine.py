"""The one door to the model: questions in, results out.

One thread only, but for `prepare` and `moved_at`. All prompts, those of the text readout's priors too, start
from the prefix cache.
"""

import logging
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from time import perf_counter
from typing import get_args

from semif_adapter.archive.calibration import LoadedCalibration
from semif_adapter.contract.errors import EngineError, PromptTooLongError, StartupError
from semif_adapter.contract.question import OptionText, Question
from semif_adapter.contract.settings import Settings
from semif_adapter.contract.wire import Layout, ModelInfo
from semif_adapter.decoding.decoder import Decoder
from semif_adapter.decoding.steps import complete
from semif_adapter.engine.answering import Answering
from semif_adapter.engine.computation import Computation, RequestResult, TokenCost
from semif_adapter.engine.model_files import ModelFile, find_calibration, find_model
from semif_adapter.engine.rehearsal import rehearse
from semif_adapter.engine.scheduler import Scheduler
from semif_adapter.engine.setup import (
    check_context_memory,
    choose_setup,
    model_info,
    open_decoder,
    prompt_templates,
)
from semif_adapter.llama.libllama import open_library
from semif_adapter.llama.model import Model, Tokens
from semif_adapter.machine.memory import budget, check_memory, own_bytes, request_bytes
from semif_adapter.readouts.opening import question_writer
from semif_adapter.readouts.written import QuestionWriter, WrittenQuestion, count_tokens, shared_prefix

logger = logging.getLogger(__name__)

_WARM_UP = Question(
    id="warm-up",
    state="The lamp in the hall is on, the one in the kitchen was switched off an hour ago. ",
    text="Is the lamp in the hall on?",
    options=(OptionText("yes", "yes", "yes"), OptionText("not_at_all", "not at all", "not at all")),
    path="warm-up",
)


LITTLE_MASS = 0.01
"""Models that answer with letters put nearly all of their probability there."""


class Engine:
    """A loaded model that answers questions."""

    tokens_per_second: float
    """How fast the warm-up decision was."""
    request_bytes: int
    """How much memory requests may have together while they are read, checked and computed."""
    longest_text_bytes: int
    """Of the longest text that is tokenised: longer ones have too many tokens."""

    def __init__(
        self,
        writer: QuestionWriter,
        decoder: Decoder,
        info: ModelInfo,
        calibration: LoadedCalibration | None,
        *,
        turn_tokens: int,
    ) -> None:
        """Use `load`."""
        self.info = info
        self.scheduler = Scheduler(
            decoder.context,
            turn_tokens=turn_tokens,
            shares_passes=decoder.shares_passes,
            forget=self._forget,
        )
        """Runs the forward passes of what was begun."""
        self._writer = writer
        self._decoder = decoder
        self._answering = Answering(decoder, info, calibration)
        self._opened = ExitStack()

    @classmethod
    def load(cls, settings: Settings) -> "Engine":
        """Load the model that `settings` name, test it and warm it up.

        Raises StartupError with one line that says what to change.
        """
        own = own_bytes()
        file = find_model(settings)
        calibration = find_calibration(settings, file)
        if not settings.gpu_layers:
            check_memory(file.size, 0)
        rehearse(settings.library_dir.resolve(), file.path, settings.gpu_layers)
        with ExitStack() as opened:
            try:
                engine = cls._open(settings, file, calibration, opened, own)
            except (EngineError, PromptTooLongError) as error:
                raise StartupError(
                    f"{file.path.name} fails its start-up decision: {error.message}; check the file, or use "
                    "another build of the library (SEMIF_LIBRARY_DIR)"
                ) from None
            engine._opened = opened.pop_all()
        return engine

    @classmethod
    def _open(
        cls,
        settings: Settings,
        file: ModelFile,
        calibration: LoadedCalibration | None,
        opened: ExitStack,
        own: int,
    ) -> "Engine":
        """An engine that has proved itself; what it holds open is put on `opened`.

        `own` is the memory that this process had taken before.
        """
        library = open_library(settings.library_dir.resolve())
        model = opened.enter_context(closing(Model(library, file.path, settings.gpu_layers)))
        setup = choose_setup(settings, file, model)
        if not settings.gpu_layers:
            check_context_memory(setup, file, model)
        templates = prompt_templates(setup, model)
        writer = question_writer(model, setup.readout, templates, setup.head, setup.context_tokens)
        if calibration:
            calibration.check_prompts(
                {layout: writer.version(layout) for layout in get_args(Layout)}, settings.layout
            )
            logger.info("calibration", extra={"fields": calibration.summary()})
        decoder = opened.enter_context(closing(open_decoder(setup, model, writer)))
        if setup.mode != "batched" and not decoder.invariant:
            logger.warning("with this model and llama.cpp build, answers depend on what else is computed")
        engine = cls(
            writer,
            decoder,
            model_info(setup, file, model, invariant=decoder.invariant),
            calibration,
            turn_tokens=settings.turn_tokens,
        )
        engine._warm_up(writer.system)
        memory = budget(library.buffers, setup.saved_state_bytes, own)
        engine.longest_text_bytes = setup.context_tokens * model.longest_token_bytes
        engine.request_bytes = request_bytes(memory["sum_bytes"], setup.saved_state_bytes)
        logger.info("memory", extra={"fields": {**memory, "requests_bytes": engine.request_bytes}})
        return engine

    def _warm_up(self, system: Tokens) -> None:
        """Score the warm-up decision, timed, and have `system`, with which all prompts begin, computed."""
        tokens = self.prepare([_WARM_UP], "schema-first").cost.most
        started = perf_counter()
        self.prove()
        self.tokens_per_second = tokens / (perf_counter() - started)
        complete(self._decoder.prime(system), self._decoder.context.run)

    def close(self) -> None:
        """Free the context and the weights; nothing may be asked afterwards."""
        self._opened.close()

    def prove(self) -> None:
        """Score the warm-up decision. Raises EngineError where the engine cannot, or answers nothing."""
        [result], _ = self.score([_WARM_UP], "schema-first")
        if len(set(result.option_logits)) == 1:
            raise EngineError("the model gives the same logit for every option")
        mass = result.allowed_token_mass
        if mass is not None and mass < LITTLE_MASS:
            logger.warning(
                "the model puts %.2g of its probability on the letters in the start-up decision: it may "
                "begin with a thought or a word; see docs/readouts.md",
                mass,
            )

    @property
    def step_tokens(self) -> int:
        """Most tokens of one forward pass."""
        return self._decoder.context.most_tokens

    @property
    def slowest_step_seconds(self) -> float:
        """How long the slowest forward pass took lately; safe from any thread."""
        return self._decoder.context.slowest_seconds

    @property
    def moved_at(self) -> float:
        """When the last forward pass ended, as `time.monotonic()` counts; safe from any thread."""
        return self._decoder.context.moved_at

    def prepare(
        self, questions: Sequence[Question], layout: Layout, go_on: Callable[[], None] = lambda: None
    ) -> Computation:
        """Write and tokenise the prompts of one request, whose questions share one state.

        `go_on` is called before each question, and ends this by what it raises.
        Safe from any thread. Raises InvalidRequestError (a text that is no Unicode) and PromptTooLongError
        (with counts).
        """
        groups = self._writer.write(questions, layout, go_on)
        cost = TokenCost(count_tokens(groups, can_cut=self._decoder.can_cut), self._cached(groups))
        return Computation(groups, cost, lambda computation: self._answering.steps(groups, computation.clock))

    def begin(self, computation: Computation) -> None:
        """Give a request its place among those that the scheduler works on."""
        computation.cost.find_cached(self._cached(computation.groups))
        self.scheduler.add(computation)

    def score(self, questions: Sequence[Question], layout: Layout) -> RequestResult:
        """Answer `questions` at once, before what was begun; results in their order.

        Raises as `prepare` does, and EngineError (a failed forward pass, logits that are not finite).
        """
        computation = self.prepare(questions, layout)
        self.scheduler.finish(computation)
        if computation.result is None:
            assert computation.failure is not None
            raise computation.failure
        return computation.result

    def _cached(self, groups: Sequence[Sequence[WrittenQuestion]]) -> int:
        """How many tokens of `groups` are computed already. Safe from any thread."""
        shared = [shared_prefix(group) for group in groups]
        return sum(sum(map(len, segments)) - self._decoder.missing(segments) for segments in shared)

    def _forget(self) -> None:
        """Leave nothing of what was computed."""
        self._decoder.context.reset()
        self._decoder.drop()
        self._writer.forget()
