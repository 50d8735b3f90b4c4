"""The prompt of a request as the model sees it, written by the adapter that answers."""

from pydantic import BaseModel

from semif_adapter.contract.settings import Settings
from semif_adapter.contract.wire import Readout
from semif_adapter.engine.tasks import Task
from semif_adapter.forms.decisions import to_questions
from semif_adapter.forms.invocations import form_of, parse_decisions, read_document
from semif_adapter.serving.worker import Worker


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
    """What is scored behind the prompt for each option: its letter, or its words."""


def prompt_view(body: bytes, worker: Worker, settings: Settings) -> PromptView:
    """The prompt of the decision in `body`; may run on any thread.

    Raises AdapterError as a request for the answer would.
    """
    document = read_document(body)
    request = parse_decisions(document, form_of(document), max_decisions=1)
    questions, layout = to_questions(request)
    prepared = worker.prepare(questions, settings.layout or layout)
    task = prepared.groups[0][0]
    prompt = task.prompts[0]
    return PromptView(
        readout=task.readout,
        version=prompt.version,
        sha256=prompt.sha256,
        parts=tuple(PromptPiece(name=name, text=text, tokens=tokens) for name, text, tokens in prompt.parts),
        answers=_answers(task),
    )


def _answers(task: Task) -> tuple[str, ...]:
    if task.readout == "letters":
        return tuple(label.text for label in task.labels)
    return tuple(option.spoken for option in task.question.options)
