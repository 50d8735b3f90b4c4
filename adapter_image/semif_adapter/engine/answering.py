"""From the questions of one request to its result, as steps that somebody else runs."""

from collections.abc import Callable, Sequence

from semif_adapter.archive.calibration import LoadedCalibration
from semif_adapter.contract.probabilities import softmax
from semif_adapter.contract.wire import ModelInfo, Result, ResultTiming, SharedTiming
from semif_adapter.decoding.decoder import Decoder
from semif_adapter.decoding.steps import Steps
from semif_adapter.engine.computation import RequestResult
from semif_adapter.readouts.written import WrittenQuestion, shared_prefix


class Answering:
    """Answers the questions of a request from what the model says behind their prompts."""

    def __init__(self, decoder: Decoder, info: ModelInfo, calibration: LoadedCalibration | None) -> None:
        """`info` is what every result tells of the model."""
        self._decoder = decoder
        self._info = info
        self._calibration = calibration

    def steps(
        self, groups: Sequence[Sequence[WrittenQuestion]], clock: Callable[[], float]
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
                        self._answer(written, computed if written is group[0] else 0, clock)
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

    def _answer(self, written: WrittenQuestion, computed: int, clock: Callable[[], float]) -> Steps[Result]:
        """Ask one question, for which `computed` tokens of its first prompt were computed already."""
        began = clock()
        yield from written.prepare(self._decoder)
        suffix_began = clock()
        reading = yield from written.read(self._decoder)
        suffix_seconds = clock() - suffix_began
        version = written.prompts[0].version
        applied = self._calibration.applied(version, written.question.kind) if self._calibration else None
        input_tokens = sum(prompt.length for prompt in written.prompts)
        return Result(
            id=written.question.id,
            option_ids=tuple(option.id for option in written.question.options),
            probabilities=tuple(softmax(reading.logits, applied.temperature if applied else 1.0).tolist()),
            option_logits=tuple(reading.logits.tolist()),
            allowed_token_mass=reading.mass,
            input_tokens=input_tokens,
            # What another request took from the cache in between was computed twice.
            cached_tokens=max(0, input_tokens - computed - reading.computed),
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
            answer_token_ids=reading.answer_tokens,
            full_vocab_argmax_id=reading.likeliest_token,
        )
