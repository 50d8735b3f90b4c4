"""The one door to the model: questions in, results out.

One thread calls `score`; `check` may be called from any. All prompts, those of the text readout's priors too,
start from the prefix cache.
"""

import hashlib
import json
import logging
from collections import OrderedDict
from collections.abc import Sequence
from contextlib import ExitStack, closing
from time import perf_counter

import numpy as np

from semif_adapter.chat_template import chat_template, plain_template
from semif_adapter.contract import (
    Layout,
    ModelInfo,
    Readout,
    Result,
    ResultTiming,
    SharedTiming,
)
from semif_adapter.cpu import usable_cpus
from semif_adapter.errors import EngineError, PromptTooLongError, StartupError
from semif_adapter.libllama import Library, open_library
from semif_adapter.llama import BATCH_TOKENS, Context, Model
from semif_adapter.manifest import PromptSpec
from semif_adapter.memory import MAX_STATE_BYTES, budget, cache_bytes, check_memory
from semif_adapter.model_files import ModelFile, find_model
from semif_adapter.prefix_cache import PrefixCache
from semif_adapter.prompt import SYSTEM_TEXT, PromptWriter
from semif_adapter.question import OptionText, Question
from semif_adapter.readout import Numbers, find_labels, read_continuations, read_letters, softmax
from semif_adapter.self_test import can_cut_tail, is_invariant
from semif_adapter.settings import Settings
from semif_adapter.streams import Stream
from semif_adapter.task import Task, TaskMaker, count_tokens, shared_prefix

logger = logging.getLogger(__name__)

PRIORS_KEPT = 1024
"""Schemas whose empty-state answers the text readout remembers; at most 2 kB each."""

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
    step_tokens = BATCH_TOKENS
    """Most tokens of one forward pass."""

    def __init__(self, settings: Settings, file: ModelFile, library: Library) -> None:
        """Use `load`."""
        spec = file.manifest.prompt if file.manifest else PromptSpec(readout="letters")
        readout: Readout = settings.readout or spec.readout
        threads = settings.threads or usable_cpus()
        with ExitStack() as opened:
            model = opened.enter_context(closing(Model(library, file.path, settings.gpu_layers)))
            self._limit = min(settings.context_tokens, model.trained_context)
            states = MAX_STATE_BYTES if model.has_recurrent_layers else 0
            if not settings.gpu_layers:
                check_memory(file.size, cache_bytes(model.metadata, self._limit * settings.streams) + states)
            source = model.chat_template if spec.template == "chat" else None
            # Letters may run out, the text readout never does: it stands in for them.
            templates = {
                name: chat_template(model, source, system) if source else plain_template(system)
                for name, system in SYSTEM_TEXT.items()
                if name in (readout, "text")
            }
            writers = {name: PromptWriter(model, template, name) for name, template in templates.items()}
            labels = find_labels(model, templates["letters"]) if readout == "letters" else ()
            self._tasks = TaskMaker(writers, labels, self._limit)
            sample = writers[readout].sample
            self._context = opened.enter_context(
                closing(Context(model, streams=settings.streams, context_tokens=self._limit, threads=threads))
            )
            self._can_cut = not model.has_recurrent_layers and can_cut_tail(self._context, sample)
            streams = [
                Stream(self._context, index, can_cut=self._can_cut) for index in range(settings.streams)
            ]
            invariant = is_invariant(self._context, streams, sample)
            if not invariant:
                logger.warning("with this model and llama.cpp build, answers depend on what else is computed")
            self.info = _info(file, model, context_tokens=self._limit, threads=threads, invariant=invariant)
            self._prefixes = PrefixCache(streams)
            self._priors: OrderedDict[bytes, Numbers] = OrderedDict()
            tokens = self.check([_WARM_UP], "schema-first")
            started = perf_counter()
            self.prove()
            self.tokens_per_second = tokens / (perf_counter() - started)
            logger.info("memory", extra={"fields": budget(library.buffers, states)})
            self._opened = opened.pop_all()

    @classmethod
    def load(cls, settings: Settings) -> "Engine":
        """Load the model that `settings` name, test it and warm it up.

        Raises StartupError with one line that says what to change.
        """
        file = find_model(settings)
        if not settings.gpu_layers:
            check_memory(file.size, 0)
        try:
            return cls(settings, file, open_library(settings.library_dir.resolve()))
        except (EngineError, PromptTooLongError) as error:
            raise StartupError(f"{file.path.name} fails its start-up decision: {error.message}") from None

    def close(self) -> None:
        """Free the context and the weights; nothing may be asked afterwards."""
        self._opened.close()

    def prove(self) -> None:
        """Score the warm-up decision. Raises EngineError where the engine cannot."""
        self.score([_WARM_UP], "schema-first")

    @property
    def moved_at(self) -> float:
        """When the last forward pass ended, as `time.monotonic()` counts; safe from any thread."""
        return self._context.moved_at

    @property
    def decoded_tokens(self) -> int:
        """How many tokens went through the model so far, of whatever prompt; safe from any thread."""
        return self._context.decoded_tokens

    def abandon(self) -> None:
        """Make the running `score` raise AbandonedError soon; safe from any thread."""
        self._context.stop()

    def resume(self) -> None:
        """Take `abandon` back; safe from any thread."""
        self._context.resume()

    def check(self, questions: Sequence[Question], layout: Layout) -> int:
        """Find out before queueing whether `score` will refuse `questions`, at the price of tokenising them.

        Returns how many tokens `score` computes at most: with nothing in the prefix cache, priors left out.
        Safe from any thread. Raises InvalidRequestError and PromptTooLongError as `score` does.
        """
        return count_tokens(self._tasks.make(questions, layout), can_cut=self._can_cut)

    def score(self, questions: Sequence[Question], layout: Layout) -> tuple[list[Result], SharedTiming]:
        """Answer `questions`, which share one state where there are several; results in their order.

        Raises InvalidRequestError (a text that is no Unicode), PromptTooLongError (with counts), EngineError
        (a failed forward pass, logits that are not finite) and AbandonedError (after `abandon`). One thread
        only.
        """
        started = perf_counter()
        groups = self._tasks.make(questions, layout)
        try:
            return self._run(groups, layout, started)
        except EngineError:
            # A NaN left in the memory would reach later answers: masked cells still count as zero times NaN.
            self._context.reset()
            self._prefixes.drop()
            self._priors.clear()
            raise

    def _run(
        self, groups: Sequence[Sequence[Task]], layout: Layout, started: float
    ) -> tuple[list[Result], SharedTiming]:
        results: dict[int, Result] = {}
        prefix_tokens, prefix_computed, prefill_seconds = 0, 0, 0.0
        for tasks in groups:
            shared = shared_prefix(tasks)
            prefill_started = perf_counter()
            computed = self._prefixes.hold(shared)[1] if shared else 0
            prefill_seconds += perf_counter() - prefill_started
            prefix_tokens += sum(map(len, shared))
            prefix_computed += computed
            for task in tasks:
                results[task.index] = self._answer(task, layout, computed)
                computed = 0  # for the first task, the others find it
        ordered = [results[index] for index in range(len(results))]
        return ordered, SharedTiming(
            batch_size=len(ordered),
            prefix_tokens=prefix_tokens,
            prefix_cached_tokens=prefix_tokens - prefix_computed,
            prefill_seconds=prefill_seconds,
            suffix_forward_seconds=sum(result.timing.suffix_forward_seconds for result in ordered),
            total_seconds=perf_counter() - started,
        )

    def _answer(self, task: Task, layout: Layout, computed: int) -> Result:
        """Run one task, for which `computed` tokens of its first prompt were computed already."""
        started = perf_counter()
        # First, since it would take the task's own tokens off the stream that has its schema.
        prior = self._prior(task, layout) if task.readout == "text" else 0.0
        suffix_started = perf_counter()
        values: list[Numbers] = []
        masses: list[float] = []
        for turn, prompt in enumerate(task.prompts):
            *before, suffix = prompt.segments
            stream, missing = self._prefixes.hold(before)
            row = stream.extend(suffix, wanted=1)[0]
            computed += missing + len(suffix)
            if task.readout == "letters":
                listed, mass = read_letters(row, task.labels)
                values.append(np.roll(listed, turn))
                masses.append(mass)
            else:
                values.append(read_continuations(stream, row, task.continuations))
        suffix_seconds = perf_counter() - suffix_started
        logits = np.mean(values, axis=0) - prior
        input_tokens = sum(prompt.length for prompt in task.prompts)
        return Result(
            id=task.question.id,
            option_ids=tuple(option.id for option in task.question.options),
            probabilities=tuple(softmax(logits).tolist()),
            option_logits=tuple(logits.tolist()),
            allowed_token_mass=sum(masses) / len(masses) if masses else None,
            input_tokens=input_tokens,
            cached_tokens=input_tokens - computed,
            prompt_version=task.prompts[0].version,
            prompt_sha256=task.prompts[0].sha256,
            readout=task.readout,
            timing=ResultTiming(
                suffix_forward_seconds=suffix_seconds,
                total_seconds=perf_counter() - started,
                rotations=len(task.prompts),
            ),
            model=self.info,
        )

    def _prior(self, task: Task, layout: Layout) -> Numbers:
        """What the options' words get from the question alone, with no state; computed once per schema."""
        schema = [layout, task.question.text, *(option.spoken for option in task.question.options)]
        key = hashlib.sha256(json.dumps(schema).encode()).digest()
        if key in self._priors:
            self._priors.move_to_end(key)
            return self._priors[key]
        *before, suffix = self._tasks.without_state(task, layout).segments
        stream, _ = self._prefixes.hold(before)
        row = stream.extend(suffix, wanted=1)
        prior = read_continuations(stream, row[0], task.continuations)
        self._priors[key] = prior
        if len(self._priors) > PRIORS_KEPT:
            self._priors.popitem(last=False)
        return prior


def _info(file: ModelFile, model: Model, *, context_tokens: int, threads: int, invariant: bool) -> ModelInfo:
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
        invariant=invariant,
    )
