"""How a loaded model is asked: with our prompts, or with those of the decision head that it has."""

from semif_adapter.archive.decision_head import DecisionHead
from semif_adapter.contract.wire import Readout
from semif_adapter.llama.model import Model
from semif_adapter.prompt.chat_template import Template
from semif_adapter.readouts.head import Head
from semif_adapter.readouts.label_head import LabelHead, LevHead, NimbleHead, OpenJevHead
from semif_adapter.readouts.listed import ListedQuestions
from semif_adapter.readouts.mask_head import MaskHead
from semif_adapter.readouts.pointer_head import PointerHead
from semif_adapter.readouts.written import QuestionWriter

_HEADS: dict[str, type[Head]] = {
    "kev": PointerHead,
    "laya": MaskHead,
    "lev": LevHead,
    "nimble": NimbleHead,
    "openjev": OpenJevHead,
    "pplx-decider": LabelHead,
}
"""By `decision.type`; archive/decision_head.py lists the same."""


def question_writer(
    model: Model,
    readout: Readout,
    templates: dict[Readout, Template],
    head: DecisionHead | None,
    limit: int,
) -> QuestionWriter:
    """What writes the questions of `model`; `limit` is how many tokens a prompt may have.

    Raises StartupError where it cannot be asked.
    """
    if head is not None:
        return _HEADS[head.kind](model, head, limit)
    return ListedQuestions(model, templates, readout, limit)
