"""The one door to the model: decisions in, results out.

One thread calls `score`; `check` may be called from any. Stream 0 holds the request at work, stream 1 the
question without its state (the text readout's prior).
"""

import hashlib
import json
import logging
from collections import OrderedDict
from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from time import perf_counter

import numpy as np

from semif_adapter.chat_template import chat_template, plain_template
from semif_adapter.contract import (
    Decision,
    Layout,
    ModelInfo,
    Option,
    Readout,
    Result,
    ResultTiming,
    SharedTiming,
)
from semif_adapter.cpu import usable_cpus
from semif_adapter.errors import EngineError, InvalidRequestError, PromptTooLongError, StartupError
from semif_adapter.libllama import Library, open_library
from semif_adapter.llama import Context, Model, Rows, Tokens
from semif_adapter.manifest import PromptSpec
from semif_adapter.model_files import ModelFile, find_model
from semif_adapter.prompt import SYSTEM_TEXT, Prompt, PromptWriter, option_words
from semif_adapter.readout import Label, Numbers, find_labels, read_continuations, read_letters, softmax
from semif_adapter.self_test import can_cut_tail, is_invariant
from semif_adapter.settings import Settings
from semif_adapter.streams import Stream

logger = logging.getLogger(__name__)

PRIORS_KEPT = 1024
"""Schemas whose empty-state answers the text readout remembers; at most 2 kB each."""

_SHARED_SEGMENTS = 2  # system and state: what the questions of one request have in common

_WARM_UP = Decision(
    id="warm-up",
    state="The lamp in the hall is on, the one in the kitchen was switched off an hour ago. ",
    question="Is the lamp in the hall on?",
    options=(Option(id="yes"), Option(id="not_at_all")),
)


@dataclass(frozen=True)
class _Task:
    """One decision, ready to run."""

    decision: Decision
    prompt: Prompt
    path: str
    labels: tuple[Label, ...]
    continuations: tuple[Tokens, ...]


class Engine:
    """A loaded model that answers decisions."""

    info: ModelInfo

    def __init__(self, settings: Settings, file: ModelFile, library: Library) -> None:
        """Use `load`."""
        spec = file.manifest.prompt if file.manifest else PromptSpec(readout="letters")
        self._readout: Readout = settings.readout or spec.readout
        threads = settings.threads or usable_cpus()
        with ExitStack() as opened:
            model = opened.enter_context(closing(Model(library, file.path, settings.gpu_layers)))
            self._limit = min(settings.context_tokens, model.trained_context)
            source = model.chat_template if spec.template == "chat" else None
            system = SYSTEM_TEXT[self._readout]
            template = chat_template(model, source, system) if source else plain_template(system)
            self._labels = find_labels(model, template) if self._readout == "letters" else ()
            self._writer = PromptWriter(model, template, self._readout)
            self._context = opened.enter_context(
                closing(Context(model, streams=settings.streams, context_tokens=self._limit, threads=threads))
            )
            can_cut = not model.has_recurrent_layers and can_cut_tail(self._context, self._writer.sample)
            self._streams = [
                Stream(self._context, index, can_cut=can_cut) for index in range(settings.streams)
            ]
            invariant = is_invariant(self._context, self._streams, self._writer.sample)
            if not invariant:
                logger.warning("with this model and llama.cpp build, answers depend on what else is computed")
            self.info = _info(file, model, context_tokens=self._limit, threads=threads, invariant=invariant)
            self._priors: OrderedDict[bytes, Numbers] = OrderedDict()
            self.score([_WARM_UP], "schema-first")
            self._opened = opened.pop_all()

    @classmethod
    def load(cls, settings: Settings) -> "Engine":
        """Load the model that `settings` name, test it and warm it up.

        Raises StartupError with one line that says what to change.
        """
        file = find_model(settings)
        try:
            return cls(settings, file, open_library(settings.library_dir.resolve()))
        except (EngineError, PromptTooLongError) as error:
            raise StartupError(f"{file.path.name} fails its start-up decision: {error.message}") from None

    def close(self) -> None:
        """Free the context and the weights; nothing may be asked afterwards."""
        self._opened.close()

    def check(self, decisions: Sequence[Decision], layout: Layout) -> None:
        """Find out before queueing whether `score` will refuse `decisions`, at the price of tokenising them.

        Safe from any thread. Raises InvalidRequestError and PromptTooLongError as `score` does.
        """
        for decision, path in zip(decisions, _paths(decisions, layout), strict=True):
            self._prepare(decision, layout, path)

    def score(self, decisions: Sequence[Decision], layout: Layout) -> tuple[list[Result], SharedTiming]:
        """Answer `decisions`, which share one state where there are several; results in their order.

        Raises InvalidRequestError (more options than labels, a text that is no Unicode), PromptTooLongError
        (with counts) and EngineError (a failed forward pass, logits that are not finite). One thread only.
        """
        started = perf_counter()
        tasks = [
            self._prepare(decision, layout, path)
            for decision, path in zip(decisions, _paths(decisions, layout), strict=True)
        ]
        try:
            return self._run(tasks, layout, started)
        except EngineError:
            # A NaN left in the memory would reach later answers: masked cells still count as zero times NaN.
            self._context.reset()
            raise

    def _prepare(self, decision: Decision, layout: Layout, path: str) -> _Task:
        count = len(decision.options)
        if self._readout == "letters" and count > len(self._labels):
            raise InvalidRequestError(
                f"{count} options are more than the {len(self._labels)} that this model has labels for; "
                "ask with fewer options, or deploy with the text readout",
                path=f"{path}.options",
            )
        labels = self._labels[:count]
        prompt = self._writer.write(decision, layout, [label.text for label in labels], path)
        continuations: tuple[Tokens, ...] = ()
        if self._readout == "text":
            continuations = tuple(self._writer.continuation(option, path) for option in decision.options)
        length = prompt.length + max(map(len, continuations), default=0)
        if length > self._limit:
            raise PromptTooLongError(
                f"the prompt{' with its longest option' if continuations else ''} has {length} tokens, "
                f"allowed are {self._limit}; shorten the state, the question or the options",
                path=path,
            )
        return _Task(decision, prompt, path, labels, continuations)

    def _run(
        self, tasks: Sequence[_Task], layout: Layout, started: float
    ) -> tuple[list[Result], SharedTiming]:
        stream = self._streams[0]
        stream.clear()
        shared = tasks[0].prompt.segments[: self._shared_segments(tasks)]
        prefill_started = perf_counter()
        for segment in shared:
            stream.extend(segment)
        prefill_seconds = perf_counter() - prefill_started
        prefix_tokens = stream.length
        mark = stream.mark() if len(tasks) > 1 else None
        results: list[Result] = []
        for task in tasks:
            task_started = perf_counter()
            if results and mark is not None:
                stream.rewind(mark)
            for segment in task.prompt.segments[len(shared) : -1]:
                stream.extend(segment)
            row = stream.extend(task.prompt.segments[-1], wanted=1)
            logits, mass, forward_ended = self._read(task, layout, stream, row)
            results.append(
                Result(
                    id=task.decision.id,
                    option_ids=tuple(option.id for option in task.decision.options),
                    probabilities=tuple(softmax(logits).tolist()),
                    option_logits=tuple(logits.tolist()),
                    allowed_token_mass=mass,
                    input_tokens=task.prompt.length,
                    cached_tokens=prefix_tokens if results else 0,
                    prompt_version=task.prompt.version,
                    prompt_sha256=task.prompt.sha256,
                    readout=self._readout,
                    timing=ResultTiming(
                        suffix_forward_seconds=forward_ended - task_started,
                        total_seconds=perf_counter() - task_started,
                    ),
                    model=self.info,
                )
            )
        return results, SharedTiming(
            batch_size=len(tasks),
            prefix_tokens=prefix_tokens,
            prefill_seconds=prefill_seconds,
            suffix_forward_seconds=sum(result.timing.suffix_forward_seconds for result in results),
            total_seconds=perf_counter() - started,
        )

    @staticmethod
    def _shared_segments(tasks: Sequence[_Task]) -> int:
        """How many leading segments all `tasks` have in common."""
        first = tasks[0].prompt.segments[1]
        same = all(np.array_equal(first, task.prompt.segments[1]) for task in tasks)
        return _SHARED_SEGMENTS if same else 1

    def _read(
        self, task: _Task, layout: Layout, stream: Stream, row: Rows
    ) -> tuple[Numbers, float | None, float]:
        """The options' logits, the allowed token mass (letters), and when the last forward pass ended."""
        if self._readout == "letters":
            forward_ended = perf_counter()
            logits, mass = read_letters(row[0], task.labels)
            return logits, mass, forward_ended
        values = read_continuations(stream, row[0], task.continuations)
        forward_ended = perf_counter()
        return values - self._prior(task, layout), None, forward_ended

    def _prior(self, task: _Task, layout: Layout) -> Numbers:
        """What the options' words get from the question alone, with no state; computed once per schema."""
        schema = [layout, task.decision.question, *map(option_words, task.decision.options)]
        key = hashlib.sha256(json.dumps(schema).encode()).digest()
        if key in self._priors:
            self._priors.move_to_end(key)
            return self._priors[key]
        stream = self._streams[1]
        stream.clear()
        *before, suffix = self._writer.write_without_state(task.decision, layout, task.path).segments
        for segment in before:
            stream.extend(segment)
        row = stream.extend(suffix, wanted=1)
        prior = read_continuations(stream, row[0], task.continuations)
        self._priors[key] = prior
        if len(self._priors) > PRIORS_KEPT:
            self._priors.popitem(last=False)
        return prior


def _paths(decisions: Sequence[Decision], layout: Layout) -> list[str]:
    """Where each decision stands in its request; the layout tells the request's form."""
    if layout == "schema-first":
        return ["decision"]
    return [f"decisions[{index}]" for index in range(len(decisions))]


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
