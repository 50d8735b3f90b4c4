"""The prompt of a request as the model sees it, written by the adapter that answers."""

from pydantic import BaseModel

from semif_adapter.contract.settings import Settings
from semif_adapter.contract.wire import Readout
from semif_adapter.engine.scoring_engine import ScoringEngine
from semif_adapter.forms.decisions import to_questions
from semif_adapter.forms.invocations import form_of, parse_decisions, read_document


class PromptPiece(BaseModel):
    """A piece of the prompt: its text, and how many tokens that makes."""

    name: str
    text: str
    tokens: int


class PromptView(BaseModel):
    """The prompt with the options in the order received; its text is that of all parts together."""

    readout: Readout
    version: str
    sha256: str
    parts: tuple[PromptPiece, ...]
    answers: tuple[str, ...]
    """What is scored for each option: its letter, its words, or its name where a decision head reads it."""


def prompt_view(body: bytes, engine: ScoringEngine, settings: Settings) -> PromptView:
    """The prompt of the decision in `body`; may run on any thread.

    Raises AdapterError as a request for the answer would.
    """
    document = read_document(body)
    request = parse_decisions(document, form_of(document), max_decisions=1)
    questions, layout = to_questions(request)
    written = engine.prepare(questions, settings.layout or layout).groups[0][0]
    prompt = written.prompts[0]
    return PromptView(
        readout=written.readout,
        version=prompt.version,
        sha256=prompt.sha256,
        parts=tuple(PromptPiece(name=name, text=text, tokens=tokens) for name, text, tokens in prompt.parts),
        answers=written.answers,
    )
