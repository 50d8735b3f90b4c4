"""Laya and Julia: an encoder that reads the whole prompt at once and scores options at their mask tokens."""

from dataclasses import replace

import numpy as np

from semif_adapter.archive.decision_head import DecisionHead, too_old
from semif_adapter.contract.errors import EngineError, StartupError
from semif_adapter.contract.probabilities import Numbers
from semif_adapter.contract.question import Question
from semif_adapter.contract.wire import QuestionKind
from semif_adapter.llama.context import Rows
from semif_adapter.llama.model import Model, Tokens
from semif_adapter.prompt.writer import Prompt
from semif_adapter.readouts.head import Head
from semif_adapter.readouts.head_variables import kind_of

_COLUMNS: dict[QuestionKind, int] = {"choice": 0, "score": 1, "noul": 2}
"""Which of the head's outputs scores which kind of question."""
_MOST_OPTION_TOKENS = 48
_LEAST_OPTION_TOKENS, _LEAST_QUESTION_TOKENS, _SPARE = 4, 8, 16
"""How the head of the prompt was cut in training, as `fill_task_laya` of llama.cpp has it
(tools/server/server-decision.cpp, read at 3cafcc83 on 2026-11-30)."""


class MaskHead(Head):
    """A score is one of the head's outputs at the mask token before an option."""

    reads_whole = True

    def __init__(self, model: Model, head: DecisionHead, limit: int) -> None:
        """Raises StartupError where the vocabulary or the library knows no such head."""
        if model.head_width != len(_COLUMNS):
            raise StartupError(
                f"the head has {model.head_width} outputs, allowed are {len(_COLUMNS)}; "
                f"{too_old(head.kind, model.library.build)}"
            )
        self._mask, self._separator = model.mask, model.separator
        if self._mask < 0 or self._separator < 0:
            raise StartupError("the model has no mask token or no separator; convert the model again")
        super().__init__(model, head, limit)

    def fitted(self, prompt: Prompt, question: Question) -> Prompt:
        """`prompt` with options and question cut to the length of training; the state stays whole."""
        tokens = self._cut(np.concatenate(prompt.segments), len(question.options))
        [system, state, schema] = prompt.parts
        whole = schema._replace(text=system.text + state.text + schema.text, tokens=len(tokens))
        return replace(prompt, segments=(tokens[:0], tokens[:0], tokens), parts=(whole,))

    def marks(self, prompt: Prompt, question: Question) -> tuple[int, ...]:  # noqa: ARG002 - the mask says all
        """The masks."""
        return tuple(np.flatnonzero(prompt.segments[-1] == self._mask).tolist())

    def scores(self, rows: Rows, question: Question) -> tuple[Numbers, float | None]:
        """The output for this kind of question at each mask."""
        return rows[:, _COLUMNS[kind_of(question)]].astype(np.float64), None

    def _cut(self, tokens: Tokens, count: int) -> Tokens:
        """[CLS] question [SEP], a mask and its option each, [SEP] state [SEP]: shortened but the state."""
        masks = np.flatnonzero(tokens == self._mask)
        separators = np.flatnonzero(tokens == self._separator)
        if len(masks) != count or masks[0] - 1 not in separators or separators[-1] != len(tokens) - 1:
            raise EngineError("the model's template does not show question, options and state in this order")
        question_end, options_end = masks[0] - 1, separators[np.searchsorted(separators, masks[-1])]
        options = np.split(tokens[masks[0] : options_end], masks[1:] - masks[0])
        options = [option[: _MOST_OPTION_TOKENS + 1] for option in options]
        most = self._head.max_head_tokens
        if sum(map(len, options)) + _SPARE > most:
            each = max(_LEAST_OPTION_TOKENS, max(0, most - _SPARE) // count)
            options = [option[:each] for option in options]
        question = max(_LEAST_QUESTION_TOKENS, most - sum(map(len, options)))
        head = tokens[: min(question_end, 1 + question)]
        return np.concatenate([head, tokens[question_end : masks[0]], *options, tokens[options_end:]])
