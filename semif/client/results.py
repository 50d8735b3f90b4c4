"""A decision's answer for programs: the choice in the caller's own type, and the numbers behind it."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from semif.client.values.options import ByOption
from semif_adapter.contract.wire import AppliedCalibration, ModelInfo, Result, ResultTiming

Choice_co = TypeVar("Choice_co", covariant=True)


@dataclass(frozen=True)
class DecisionResult(Generic[Choice_co]):
    """The answer to one decision. All mappings go from an option's id to its number, in request
    order; an option finds its number too: `probabilities[Team.BILLING]`."""

    choice: Choice_co
    """The most probable option, the first of them where several are, as what the caller gave for it."""
    raw: Result
    """The wire's own result."""
    inference_id: str | None = field(default=None, compare=False)
    """Of the call that it answers, by which the adapter's log tells of it; None where it was loaded."""

    @classmethod
    def load(cls, document: object) -> "DecisionResult[str]":
        """The answer in a reply, or in the `raw` of a run's record; its `choice` is an id.

        Raises ValidationError for a document that holds no result of this version.
        """
        if isinstance(document, Mapping) and "result" in document:
            document = document["result"]
        raw = Result.model_validate_json(json.dumps(document))
        return DecisionResult(raw.option_ids[best_option(raw.probabilities)], raw)

    @property
    def probabilities(self) -> ByOption:
        """Probability of each option, 0 to 1; they add up to 1."""
        return ByOption(self.raw.option_ids, self.raw.probabilities)

    @property
    def option_logits(self) -> ByOption:
        """What the softmax took for each option; see `Result.option_logits`."""
        return ByOption(self.raw.option_ids, self.raw.option_logits)

    @property
    def id(self) -> str:
        """The decision's id, as it was asked."""
        return self.raw.id

    @property
    def choice_id(self) -> str:
        """The id of the choice, whatever type the caller gave for it."""
        return self.raw.option_ids[best_option(self.raw.probabilities)]

    @property
    def probability(self) -> float:
        """Probability of the choice, 0 to 1."""
        return max(self.raw.probabilities)

    @property
    def margin(self) -> float:
        """How far the choice is ahead of the next option, as a difference of probabilities; 0 is a tie."""
        first, second = sorted(self.raw.probabilities, reverse=True)[:2]
        return first - second

    @property
    def entropy(self) -> float:
        """Shannon's, in nats: 0 where one option has it all, log(number of options) where all are alike."""
        return -math.fsum(p * math.log(p) for p in self.raw.probabilities if p > 0)

    @property
    def allowed_token_mass(self) -> float | None:
        """Share of the model's whole probability on the answer letters, 0 to 1; None for the text readout."""
        return self.raw.allowed_token_mass

    @property
    def calibration(self) -> AppliedCalibration | None:
        """The temperature behind the probabilities and its file's SHA-256; None where none was applied."""
        return self.raw.calibration

    @property
    def input_tokens(self) -> int:
        """Prompt tokens of this decision, cached ones included."""
        return self.raw.input_tokens

    @property
    def cached_tokens(self) -> int:
        """How many of `input_tokens` did not have to be computed."""
        return self.raw.cached_tokens

    @property
    def timing(self) -> ResultTiming:
        """Seconds in the engine."""
        return self.raw.timing

    @property
    def model(self) -> ModelInfo:
        """What answered: enough to reproduce the numbers."""
        return self.raw.model


def best_option(probabilities: Sequence[float]) -> int:
    """The position of the most probable option, the first of them where several are."""
    return max(range(len(probabilities)), key=probabilities.__getitem__)
