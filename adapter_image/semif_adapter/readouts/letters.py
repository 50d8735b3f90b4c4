"""The letters readout: the logits of the labels that stand before the listed options."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from semif_adapter.contract.errors import EngineError
from semif_adapter.contract.probabilities import Numbers, log_sum_exp
from semif_adapter.contract.wire import Readout
from semif_adapter.decoding.decoder import DecodedPrompt
from semif_adapter.llama.model import Tokens
from semif_adapter.prompt.labels import Label
from semif_adapter.readouts.written import Heard, Reading, WrittenQuestion


@dataclass(frozen=True, eq=False)
class LettersQuestion(WrittenQuestion):
    """A question whose options are listed behind `labels`; the list in prompt r begins with option r."""

    readout: ClassVar[Readout] = "letters"

    labels: tuple[Label, ...]

    @property
    def answers(self) -> tuple[str, ...]:
        """The labels."""
        return tuple(label.text for label in self.labels)

    def hear(self, place: int, decoded: DecodedPrompt) -> Heard:
        """The labels' logits, and the likeliest token of all."""
        row = decoded.rows[-1]
        logits, mass = read_labels(row, np.array([label.token for label in self.labels], np.int32))
        return Heard(np.roll(logits, place), mass, decoded.computed, int(row.argmax()))

    def read(self, heard: Sequence[Heard], prior: Numbers | None) -> Reading:  # noqa: ARG002 - none
        """The mean of the labels' logits over the orders: also that of the logits over a temperature."""
        return Reading(
            np.mean([one.values for one in heard], axis=0),
            sum(one.mass or 0.0 for one in heard) / len(heard),
            sum(one.computed for one in heard),
            tuple(label.token for label in self.labels),
            heard[0].likeliest_token,
        )


def read_labels(row: npt.NDArray[np.float32], labels: Tokens) -> tuple[Numbers, float]:
    """The labels' logits in `row`, shape (labels,), and the share of the whole probability that they hold.

    Raises EngineError where logits are not finite or no label has any probability.
    """
    logits = row[labels].astype(np.float64)
    mass = float(np.exp(logits - log_sum_exp(row)).sum())
    if mass == 0.0:
        raise EngineError("the model puts no probability on any option")
    return logits, mass
