"""SemIf's own prompt, `direct-options-v1`: what its published figures were measured with.

The system text, the keys and the way of writing JSON are those of `DIRECT_SYSTEM` and `Prompt.messages` in
src/semif_phase1/core.py of github.com/TheoLeeCJ/SemIf (MIT; read on 2026-11-30, not run); AWS's sample scores
with the same code. The user's turn is one JSON object: the evidence (state), the criterion (question), and
the options, letter and description. There is no other layout. A question in System One's form is mapped as
SemIf's own server does it (src/semif_api/translate.py, read on the same day).

Unlike there, nothing of the caller's is parsed for control tokens, so that nothing has to be refused.
"""

import json
from collections.abc import Sequence

import numpy as np

from semif_adapter.contract.question import Content, OptionText, Question
from semif_adapter.contract.wire import Layout
from semif_adapter.llama.model import Tokens
from semif_adapter.prompt.writer import Prompt, PromptPart, PromptWriter

DIRECT_OPTIONS_SYSTEM = (
    "Apply the supplied criterion to the supplied evidence. Choose exactly one listed option. "
    "Respond with only its uppercase letter, with no explanation or reasoning."
)
_SIDES = {"true": "The answer to the question is yes.", "false": "The answer to the question is no."}
"""What describes a noul's side that nothing describes."""


class DirectOptionsWriter(PromptWriter):
    """Writes them. The object is tokenised in one piece, as there, and cut where its evidence ends."""

    most_listed = 16

    def write(
        self,
        question: Question,
        layout: Layout,
        labels: Sequence[str] = (),
        turn: int = 0,
        known: dict[str, Tokens] | None = None,
    ) -> Prompt:
        """As `PromptWriter.write`; the evidence comes first in either layout."""
        known = {} if known is None else known
        listed = question.options[turn:] + question.options[:turn]
        options = [
            {"letter": label, "description": _description(option, question)}
            for label, option in zip(labels, listed, strict=True)
        ]
        evidence = _json({"evidence": question.state})[:-1]
        rest = f", {_json({'criterion': _words(question.asked), 'options': options})[1:]}"
        whole = self._tokens_of(evidence + rest, question.path, inside=self._words_inside, keep=False)
        if evidence not in known:
            known[evidence] = self._tokens_of(evidence, question.path, inside=self._words_inside, keep=False)
        first, second = np.split(whole, [_shared(known[evidence], whole)])
        return Prompt(
            segments=(self.system, first, np.concatenate([second, self._suffix])),
            parts=(
                PromptPart("system", self._template.head, len(self.system)),
                PromptPart("state", evidence, len(first)),
                PromptPart("schema", rest, len(second)),
                PromptPart("suffix", self._template.tail, len(self._suffix)),
            ),
            version=self.version(layout),
        )


def _description(option: OptionText, question: Question) -> str:
    if option.description:
        return _words(option.description)
    return _SIDES[option.id] if question.kind == "noul" else option.id


def _words(content: Content) -> str:
    return content if isinstance(content, str) else _json(content)


def _json(value: object) -> str:
    """JSON with the spaces that Python writes by default."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _shared(beginning: Tokens, whole: Tokens) -> int:
    """How many tokens both begin with: the last ones of `beginning` may be others where text follows."""
    length = min(len(beginning), len(whole))
    unlike = np.flatnonzero(beginning[:length] != whole[:length])
    return int(unlike[0]) if len(unlike) else length
