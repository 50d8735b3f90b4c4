"""Kev: a query at the prompt's end points at the options, each at the token that ends it."""

import math

import numpy as np

from semif_adapter.archive.decision_head import DecisionHead, too_old
from semif_adapter.contract.errors import EngineError, StartupError
from semif_adapter.contract.probabilities import Numbers
from semif_adapter.contract.question import Question
from semif_adapter.llama.context import Rows
from semif_adapter.llama.model import Model
from semif_adapter.prompt.writer import Prompt
from semif_adapter.readouts.head import Head
from semif_adapter.readouts.head_variables import Habits

_OPTION_END = "<|box_end|>"


class PointerHead(Head):
    """The head's output for a token is its query and its key; a score is their product over the root of
    their width."""

    habits = Habits(flattens=True)

    def __init__(self, model: Model, head: DecisionHead, limit: int) -> None:
        """Raises StartupError where the vocabulary or the library knows no such head."""
        width = model.metadata(f"{model.metadata('general.architecture')}.embedding_length_out")
        if width != str(model.head_width) or model.head_width % 2:
            raise StartupError(
                f"the head's width is {width}, the library's {model.head_width}, allowed are the same even "
                f"numbers; {too_old(head.kind, model.library.build)}"
            )
        ends = model.tokenize(_OPTION_END, parse_special=True)
        if len(ends) != 1:
            raise StartupError(f"the model has no token {_OPTION_END}, at which its head reads an option")
        self._end = int(ends[0])
        super().__init__(model, head, limit)

    def marks(self, prompt: Prompt, question: Question) -> tuple[int, ...]:
        """The options' ends, and the last token."""
        last = prompt.segments[-1]
        ends = np.flatnonzero(last == self._end).tolist()
        if len(ends) != len(question.options):
            raise EngineError(f"the model's template shows {len(ends)} of {len(question.options)} options")
        return (*ends, len(last) - 1)

    def scores(self, rows: Rows, question: Question) -> tuple[Numbers, float | None]:  # noqa: ARG002 - the rows say all
        """The query times each key."""
        width = rows.shape[1] // 2
        query, keys = rows[-1, :width].astype(np.float64), rows[:-1, width:].astype(np.float64)
        return np.asarray(keys @ query / math.sqrt(width), np.float64), None
