"""From the questions of one request to its result, as steps that somebody else runs."""

from collections import OrderedDict
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from semif_adapter.archive.calibration import LoadedCalibration
from semif_adapter.contract.errors import EngineError
from semif_adapter.contract.probabilities import Numbers, log_sum_exp, softmax
from semif_adapter.contract.wire import Layout, ModelInfo, Result, ResultTiming, SharedTiming
from semif_adapter.decoding.continuations import count_decoded
from semif_adapter.decoding.decoder import Decoder
from semif_adapter.decoding.steps import Steps
from semif_adapter.engine.computation import RequestResult
from semif_adapter.engine.question_writer import QuestionWriter, WrittenQuestion, shared_prefix
from semif_adapter.prompt.labels import Label

PRIORS_KEPT = 1024
"""Schemas whose empty-state answers the text readout remembers; at most 2 kB each."""


class Answering:
    """Answers the questions of a request from what the model says behind their prompts."""

    def __init__(
        self, writer: QuestionWriter, decoder: Decoder, info: ModelInfo, calibration: LoadedCalibration | None
    ) -> None:
        """`info` is what every result tells of the model."""
        self._writer = writer
        self._decoder = decoder
        self._info = info
        self._calibration = calibration
        self._priors: OrderedDict[bytes, Numbers] = OrderedDict()

    def prior_tokens(self, groups: Sequence[Sequence[WrittenQuestion]], layout: Layout) -> int:
        """How many tokens the priors of these questions take that are not known yet. Safe from any thread."""
        tokens = 0
        priors = {written.prior_key: written for group in groups for written in group}
        for key, written in priors.items():
            if key is not None and key not in self._priors:
                tokens += self._writer.without_state(written, layout).length
                tokens += count_decoded(written.continuations, can_cut=self._decoder.can_cut)
        return tokens

    def forget(self) -> None:
        """Leave nothing of what was computed."""
        self._priors.clear()

    def steps(
        self,
        groups: Sequence[Sequence[WrittenQuestion]],
        layout: Layout,
        clock: Callable[[], float],
    ) -> Steps[RequestResult]:
        """The way to a request's result; `clock` tells the seconds that were spent on it."""
        began = clock()
        results: dict[int, Result] = {}
        prefix_tokens, prefix_computed, prefill_seconds, suffix_seconds = 0, 0, 0.0, 0.0
        for group in groups:
            shared = shared_prefix(group)
            with self._decoder.keeping(shared):
                prefill_began = clock()
                computed = yield from self._decoder.prefill(shared)
                suffix_began = clock()
                # What the prefix took counts for the first question, the others find it.
                answers = yield from self._decoder.join(
                    [
                        self._answer(written, layout, computed if written is group[0] else 0, clock)
                        for written in group
                    ]
                )
            results |= {written.index: answer for written, answer in zip(group, answers, strict=True)}
            prefill_seconds += suffix_began - prefill_began
            suffix_seconds += clock() - suffix_began
            prefix_tokens += sum(map(len, shared))
            prefix_computed += computed
        ordered = [results[index] for index in range(len(results))]
        return RequestResult(
            ordered,
            SharedTiming(
                batch_size=len(ordered),
                prefix_tokens=prefix_tokens,
                prefix_cached_tokens=prefix_tokens - prefix_computed,
                prefill_seconds=prefill_seconds,
                suffix_forward_seconds=suffix_seconds,
                total_seconds=clock() - began,
            ),
        )

    def _answer(
        self, written: WrittenQuestion, layout: Layout, computed: int, clock: Callable[[], float]
    ) -> Steps[Result]:
        """Ask one question, for which `computed` tokens of its first prompt were computed already."""
        began = clock()
        # First, since it would take the question's own tokens off the stream that has its schema.
        prior = (
            0.0 if written.prior_key is None else (yield from self._prior(written, written.prior_key, layout))
        )
        suffix_began = clock()
        decoded = yield from self._decoder.join(
            [self._decoder.decode(prompt.segments, written.continuations) for prompt in written.prompts]
        )
        suffix_seconds = clock() - suffix_began
        masses: list[float] = []
        if written.readout == "letters":
            listed = [read_letters(one.row, written.labels) for one in decoded]
            values = [np.roll(logits, turn) for turn, (logits, _) in enumerate(listed)]
            masses = [mass for _, mass in listed]
        else:
            values = [one.values for one in decoded]
        # The temperature divides the mean over the rotations, which is the mean of the logits so divided.
        logits = np.mean(values, axis=0) - prior
        version = written.prompts[0].version
        applied = self._calibration.applied(version, written.question.kind) if self._calibration else None
        input_tokens = sum(prompt.length for prompt in written.prompts)
        computed += sum(one.computed for one in decoded)
        return Result(
            id=written.question.id,
            option_ids=tuple(option.id for option in written.question.options),
            probabilities=tuple(softmax(logits, applied.temperature if applied else 1.0).tolist()),
            option_logits=tuple(logits.tolist()),
            allowed_token_mass=sum(masses) / len(masses) if masses else None,
            input_tokens=input_tokens,
            # What another request took from the cache in between was computed twice.
            cached_tokens=max(0, input_tokens - computed),
            prompt_version=version,
            prompt_sha256=written.prompts[0].sha256,
            readout=written.readout,
            calibration=applied,
            timing=ResultTiming(
                suffix_forward_seconds=suffix_seconds,
                total_seconds=clock() - began,
                rotations=len(written.prompts),
            ),
            model=self._info,
            answer_token_ids=tuple(label.token for label in written.labels) if masses else None,
            full_vocab_argmax_id=int(decoded[0].row.argmax()) if masses else None,
        )

    def _prior(self, written: WrittenQuestion, key: bytes, layout: Layout) -> Steps[Numbers]:
        """What the options' words get from the question alone, with no state; computed once per schema."""
        if key in self._priors:
            self._priors.move_to_end(key)
            return self._priors[key]
        prompt = self._writer.without_state(written, layout)
        decoded = yield from self._decoder.decode(prompt.segments, written.continuations)
        self._priors[key] = decoded.values
        if len(self._priors) > PRIORS_KEPT:
            self._priors.popitem(last=False)
        return decoded.values


def read_letters(row: npt.NDArray[np.float32], labels: tuple[Label, ...]) -> tuple[Numbers, float]:
    """The labels' logits in `row`, shape (labels,), and the share of the whole probability that they hold."""
    logits = row[[label.token for label in labels]].astype(np.float64)
    mass = float(np.exp(logits - log_sum_exp(row)).sum())
    if mass == 0.0:
        raise EngineError("the model puts no probability on any option")
    return logits, mass
