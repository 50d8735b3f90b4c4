"""The one door to the model: questions in, results out.

One thread only, but for `prepare`, `abandon` and `moved_at`. All prompts, those of the text readout's priors
too, start from the prefix cache.
"""

import logging
from collections.abc import Sequence
from contextlib import ExitStack, closing
from time import perf_counter
from typing import get_args

from semif_adapter.archive.calibration import LoadedCalibration
from semif_adapter.archive.manifest import PromptSpec
from semif_adapter.contract.errors import EngineError, PromptTooLongError, StartupError
from semif_adapter.contract.question import OptionText, Question
from semif_adapter.contract.settings import Settings
from semif_adapter.contract.wire import Layout, Mode, ModelInfo, Readout
from semif_adapter.decoding.batched_decoder import SEQUENCES, BatchedDecoder
from semif_adapter.decoding.decoder import Decoder
from semif_adapter.decoding.invariant_decoder import InvariantDecoder
from semif_adapter.decoding.steps import complete
from semif_adapter.engine.answering import Answering
from semif_adapter.engine.model_files import ModelFile, find_calibration, find_model
from semif_adapter.engine.question_writer import QuestionWriter, shared_prefix
from semif_adapter.engine.scheduler import Run, Scheduler
from semif_adapter.engine.scoring_engine import Answer, Prepared
from semif_adapter.llama.libllama import Library, open_library
from semif_adapter.llama.model import Model
from semif_adapter.machine.cpu import usable_cpus
from semif_adapter.machine.memory import MAX_STATE_BYTES, budget, cache_bytes, check_memory, recurrent_bytes
from semif_adapter.prompt.chat_template import chat_template, plain_template
from semif_adapter.prompt.labels import find_labels
from semif_adapter.prompt.writer import SYSTEM_TEXT, PromptWriter

logger = logging.getLogger(__name__)

_WARM_UP = Question(
    id="warm-up",
    state="The lamp in the hall is on, the one in the kitchen was switched off an hour ago. ",
    text="Is the lamp in the hall on?",
    options=(OptionText("yes", "yes", "yes"), OptionText("not_at_all", "not at all", "not at all")),
    path="warm-up",
)


class Engine:
    """A loaded model that answers questions."""

    info: ModelInfo
    tokens_per_second: float
    """How fast the warm-up decision was."""

    def __init__(
        self, settings: Settings, file: ModelFile, library: Library, calibration: LoadedCalibration | None
    ) -> None:
        """Use `load`."""
        spec = file.manifest.prompt if file.manifest else PromptSpec(readout="letters")
        readout: Readout = settings.readout or spec.readout
        threads = settings.threads or usable_cpus()
        with ExitStack() as opened:
            model = opened.enter_context(closing(Model(library, file.path, settings.gpu_layers)))
            self._limit = min(settings.context_tokens, model.trained_context)
            mode = _mode(settings, model)
            states = MAX_STATE_BYTES if model.has_recurrent_layers and mode == "invariant" else 0
            if not settings.gpu_layers:
                cache = cache_bytes(model.metadata, self._limit * settings.streams)
                sequences = SEQUENCES if mode == "batched" else settings.streams
                check_memory(file.size, cache + recurrent_bytes(model.metadata, sequences) + states)
            source = model.chat_template if spec.template == "chat" else None
            # Letters may run out, the text readout never does: it stands in for them.
            templates = {
                name: chat_template(model, source, system) if source else plain_template(system)
                for name, system in SYSTEM_TEXT.items()
                if name in (readout, "text")
            }
            writers = {name: PromptWriter(model, template, name) for name, template in templates.items()}
            if calibration:
                versions = {layout: writers[readout].version(layout) for layout in get_args(Layout)}
                calibration.check_prompts(versions, settings.layout)
                logger.info("calibration", extra={"fields": calibration.summary()})
            labels = find_labels(model, templates["letters"]) if readout == "letters" else ()
            memory = {"streams": settings.streams, "context_tokens": self._limit, "threads": threads}
            self._decoder: Decoder = (
                BatchedDecoder(model, **memory)
                if mode == "batched"
                else InvariantDecoder(model, sample=writers[readout].sample, **memory)
            )
            opened.enter_context(closing(self._decoder))
            if mode == "invariant" and not self._decoder.invariant:
                logger.warning("with this model and llama.cpp build, answers depend on what else is computed")
            self.info = _info(
                file, model, self._decoder, mode=mode, context_tokens=self._limit, threads=threads
            )
            self.scheduler = Scheduler[Answer](
                self._decoder.context,
                turn_tokens=settings.turn_tokens,
                shares_passes=self._decoder.shares_passes,
                forget=self._forget,
            )
            """Runs the forward passes; `advance` lets it choose whose."""
            writer = QuestionWriter(writers, labels, self._limit)
            self._answering = Answering(writer, self._decoder, self.info, calibration)
            tokens = self.prepare([_WARM_UP], "schema-first").tokens
            started = perf_counter()
            self.prove()
            self.tokens_per_second = tokens / (perf_counter() - started)
            complete(self._decoder.prime(writers[readout].system), self._decoder.context.run)
            logger.info("memory", extra={"fields": budget(library.buffers, states)})
            self._opened = opened.pop_all()

    @classmethod
    def load(cls, settings: Settings) -> "Engine":
        """Load the model that `settings` name, test it and warm it up.

        Raises StartupError with one line that says what to change.
        """
        file = find_model(settings)
        calibration = find_calibration(settings, file)
        if not settings.gpu_layers:
            check_memory(file.size, 0)
        try:
            return cls(settings, file, open_library(settings.library_dir.resolve()), calibration)
        except (EngineError, PromptTooLongError) as error:
            raise StartupError(
                f"{file.path.name} fails its start-up decision: {error.message}; check the file, or use "
                "another build of the library (SEMIF_LIBRARY_DIR)"
            ) from None

    def close(self) -> None:
        """Free the context and the weights; nothing may be asked afterwards."""
        self._opened.close()

    def prove(self) -> None:
        """Score the warm-up decision. Raises EngineError where the engine cannot."""
        self.score([_WARM_UP], "schema-first")

    @property
    def step_tokens(self) -> int:
        """Most tokens of one forward pass."""
        return self._decoder.context.batch_tokens

    @property
    def moved_at(self) -> float:
        """When the last forward pass ended, as `time.monotonic()` counts; safe from any thread."""
        return self._decoder.context.moved_at

    def prepare(self, questions: Sequence[Question], layout: Layout) -> Prepared:
        """Write and tokenise the prompts of one request, whose questions share one state.

        Safe from any thread. Raises InvalidRequestError (a text that is no Unicode) and PromptTooLongError
        (with counts).
        """
        return self._answering.prepare(questions, layout)

    def begin(self, prepared: Prepared) -> Run[Answer]:
        """Give a request its place among those that `advance` works on."""
        cached = 0
        for group in prepared.groups:
            shared = shared_prefix(group)
            cached += sum(map(len, shared)) - self._decoder.missing(shared)
        run = self._run(prepared, prepared.tokens - cached)
        self.scheduler.add(run)
        return run

    def advance(self) -> list[Run[Answer]]:
        """Run one forward pass for whose turn it is; the requests that have their answer, or failed."""
        return self.scheduler.advance()

    def abandon(self, run: Run[Answer]) -> None:
        """Nobody waits for `run` any more: it fails with AbandonedError soon. Safe from any thread."""
        self.scheduler.abandon(run)

    def score(self, questions: Sequence[Question], layout: Layout) -> Answer:
        """Answer `questions` at once, before what was begun; results in their order.

        Raises as `prepare` does, and EngineError (a failed forward pass, logits that are not finite).
        """
        prepared = self.prepare(questions, layout)
        run = self._run(prepared, prepared.tokens)
        self.scheduler.finish(run)
        if run.result is None:
            assert run.failure is not None
            raise run.failure
        return run.result

    def _run(self, prepared: Prepared, tokens: int) -> Run[Answer]:
        return Run(lambda run: self._answering.steps(prepared, run.clock), tokens)

    def _forget(self) -> None:
        """Leave nothing of what was computed."""
        self._decoder.context.reset()
        self._decoder.drop()
        self._answering.forget()


def _mode(settings: Settings, model: Model) -> Mode:
    """What the settings say, or what suits the device."""
    if settings.mode != "auto":
        return settings.mode
    return "batched" if model.gpu_layers else "invariant"


def _info(
    file: ModelFile, model: Model, decoder: Decoder, *, mode: Mode, context_tokens: int, threads: int
) -> ModelInfo:
    """What answers, as every result tells."""
    gpus = [device for device in model.library.devices if device.is_gpu] if model.gpu_layers else []
    devices = [*gpus, *(device for device in model.library.devices if device.is_cpu)]
    manifest = file.manifest
    return ModelInfo(
        name=manifest.preset if manifest else model.metadata("general.name") or file.path.stem,
        file=file.path.name,
        sha256=file.sha256,
        revision=manifest.revision if manifest else None,
        quantization=manifest.quantization if manifest else model.quantization,
        llama_cpp_build=model.library.build,
        backend=devices[0].backend,
        devices=tuple(map(str, devices)),
        gpu_layers=model.gpu_layers,
        context_tokens=context_tokens,
        threads=threads,
        mode=mode,
        invariant=decoder.invariant,
    )
