"""From the questions of one request to its result, as steps that somebody else runs."""

from collections.abc import Callable, Sequence
from itertools import islice
from typing import NamedTuple

from semif_adapter.archive.calibration import LoadedCalibration
from semif_adapter.contract.probabilities import Numbers, softmax
from semif_adapter.contract.wire import ModelInfo, Result, ResultTiming, SharedTiming
from semif_adapter.decoding.decoder import DecodedPrompt, Decoder
from semif_adapter.decoding.steps import Steps
from semif_adapter.engine.computation import RequestResult
from semif_adapter.readouts.written import Heard, Reading, WrittenQuestion, shared_prefix


class _Prior(NamedTuple):
    """What a question's options get whatever the state is, where it is taken off, and the seconds it took."""

    values: Numbers | None
    seconds: float


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
        prefix_tokens, prefix_cached, prefill_seconds, suffix_seconds = 0, 0, 0.0, 0.0
        for group in groups:
            shared = shared_prefix(group)
            with self._decoder.keeping(shared):
                prefill_began = clock()
                computed = yield from self._decoder.prefill(shared)
                suffix_began = clock()
                priors = yield from self._decoder.join([self._prior(written, clock) for written in group])
                asked = list(zip(group, priors, strict=True))
                batches = [asked] if self._decoder.joins_questions else [[one] for one in asked]
                # What the prefix took counts for the first question, the others find it.
                answers = yield from self._decoder.join(
                    [self._answer(batch, computed if batch is batches[0] else 0, clock) for batch in batches]
                )
            results |= dict(answer for batch in answers for answer in batch)
            prefill_seconds += suffix_began - prefill_began
            suffix_seconds += clock() - suffix_began
            length = sum(map(len, shared))
            prefix_tokens += length
            # What another request took away between its passes was computed twice.
            prefix_cached += max(0, length - computed)
        ordered = [results[index] for index in range(len(results))]
        return RequestResult(
            ordered,
            SharedTiming(
                batch_size=len(ordered),
                prefix_tokens=prefix_tokens,
                prefix_cached_tokens=prefix_cached,
                prefill_seconds=prefill_seconds,
                suffix_forward_seconds=suffix_seconds,
                total_seconds=clock() - began,
            ),
        )

    def _prior(self, written: WrittenQuestion, clock: Callable[[], float]) -> Steps[_Prior]:
        began = clock()
        values = yield from written.prior(self._decoder)
        return _Prior(values, clock() - began)

    def _answer(
        self, batch: Sequence[tuple[WrittenQuestion, _Prior]], computed: int, clock: Callable[[], float]
    ) -> Steps[list[tuple[int, Result]]]:
        """Ask questions together; of the first one's first prompt `computed` tokens were computed already.

        What it took is each one's by the tokens that were computed for it.
        """
        began = clock()
        asked = [(written, place, one) for written, _ in batch for place, one in enumerate(written.asked)]

        def hear(number: int, decoded: DecodedPrompt) -> Heard:
            written, place, _ = asked[number]
            return written.hear(place, decoded)

        heard = iter((yield from self._decoder.decode_all([one for _, _, one in asked], hear)))
        readings = [
            written.read(list(islice(heard, len(written.prompts))), prior.values) for written, prior in batch
        ]
        a_token = (clock() - began) / sum(reading.computed for reading in readings)
        return [
            (
                written.index,
                self._result(
                    written,
                    reading,
                    0 if place else computed,
                    suffix_seconds=reading.computed * a_token,
                    prior_seconds=prior.seconds,
                ),
            )
            for place, ((written, prior), reading) in enumerate(zip(batch, readings, strict=True))
        ]

    def _result(
        self,
        written: WrittenQuestion,
        reading: Reading,
        computed: int,
        *,
        suffix_seconds: float,
        prior_seconds: float,
    ) -> Result:
        """The answer to one question, for which `computed` tokens of its prefix were computed before."""
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
                total_seconds=prior_seconds + suffix_seconds,
                rotations=len(written.prompts),
            ),
            model=self._info,
            answer_token_ids=reading.answer_tokens,
            full_vocab_argmax_id=reading.likeliest_token,
        )
