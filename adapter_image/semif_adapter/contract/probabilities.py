"""From logits to probabilities, in float64."""

import numpy as np
import numpy.typing as npt

from semif_adapter.contract.errors import EngineError

Numbers = npt.NDArray[np.float64]


def log_sum_exp(row: npt.NDArray[np.float32]) -> float:
    """Logarithm of the sum of exponentials of `row`. Raises EngineError where it is no finite number."""
    largest = float(row.max())
    total = (
        largest + float(np.log(np.exp(row - largest, dtype=np.float64).sum()))
        if np.isfinite(largest)
        else np.nan
    )
    if not np.isfinite(total):
        raise EngineError("the model gave logits that are not finite numbers")
    return total


def softmax(logits: Numbers, temperature: float = 1.0) -> Numbers:
    """Probabilities of the same shape, those of `logits` divided by `temperature`, which is above 0.

    Raises EngineError where a logit is NaN or none is finite.
    """
    largest = logits.max()
    if not np.isfinite(largest):
        raise EngineError("the options' logits are not finite numbers")
    weights = np.exp((logits - largest) / temperature)
    return np.asarray(weights / weights.sum(), np.float64)
