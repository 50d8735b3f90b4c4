"""Our own prompts: which of letters and text asks a question, and in which orders of its options."""

from collections.abc import Callable, Sequence

from semif_adapter.archive.prompt_version import DIRECT_OPTIONS
from semif_adapter.contract.errors import PromptTooLongError
from semif_adapter.contract.question import Question
from semif_adapter.contract.wire import Layout, Readout
from semif_adapter.llama.model import Model, Tokens
from semif_adapter.prompt.chat_template import Template
from semif_adapter.prompt.direct_options import DirectOptionsWriter
from semif_adapter.prompt.labels import Label, find_labels
from semif_adapter.prompt.text_length import TextLength
from semif_adapter.prompt.writer import PromptWriter
from semif_adapter.readouts.letters import LettersQuestion
from semif_adapter.readouts.text import TextReadout
from semif_adapter.readouts.written import WrittenQuestion, refuse_too_long

ALWAYS_LISTED = 26
"""Up to so many options the list may take what it needs: only a prompt that does not fit is refused."""


class ListedQuestions:
    """The `QuestionWriter` of models without a head.

    A question with more options than the model has labels or the prompt has places for, or whose list would
    take more than half of the context, is asked with the text readout instead, which has no limit.
    """

    reads_head = False
    reads_whole = False

    def __init__(
        self, model: Model, templates: dict[Readout, Template], readout: Readout, limit: int
    ) -> None:
        """Ask with `readout`, letters or text; `limit` is how many tokens a prompt may have.

        Raises StartupError where letters are asked for and the model lacks them.
        """
        length = TextLength(model, limit)  # of all writers: the whole vocabulary is read for it
        writers = {name: _writer(model, template, name, length) for name, template in templates.items()}
        self._asked = writers[readout]
        self._letters = writers.get("letters")
        self._labels: tuple[Label, ...] = (
            find_labels(model, templates["letters"]) if readout == "letters" else ()
        )
        self._text = TextReadout(writers["text"], limit)
        self._limit = limit
        self.system = self._asked.system

    @property
    def sample(self) -> Tokens:
        """Some tokens of this model's prompts."""
        return self._asked.sample

    def version(self, layout: Layout) -> str:
        """The `prompt_version` of most of its results; the text readout, standing in, has its own."""
        return self._asked.version(layout)

    def write(
        self, questions: Sequence[Question], layout: Layout, go_on: Callable[[], None]
    ) -> list[list[WrittenQuestion]]:
        """The questions of one request, grouped by readout."""
        groups: dict[Readout, list[WrittenQuestion]] = {}
        listed: dict[str, Tokens] = {}
        spoken: dict[str, Tokens] = {}
        for index, question in enumerate(questions):
            go_on()
            written = self._listed(index, question, layout, listed)
            written = written or self._text.write(index, question, layout, spoken)
            groups.setdefault(written.readout, []).append(written)
        return list(groups.values())

    def forget(self) -> None:
        """Leave nothing of what was computed."""
        self._text.forget()

    def _listed(
        self, index: int, question: Question, layout: Layout, known: dict[str, Tokens]
    ) -> WrittenQuestion | None:
        """`question` with the options in its prompt, behind labels; None where they are too many for that."""
        count = len(question.options)
        if self._letters is None or count > min(len(self._labels), self._letters.most_listed):
            return None
        writer, labels = self._letters, self._labels[:count]
        texts = [label.text for label in labels]
        try:
            prompts = [writer.write(question, layout, texts, known=known)]
        except PromptTooLongError:
            if count <= ALWAYS_LISTED:
                raise
            return None
        if count > ALWAYS_LISTED and prompts[0].schema_tokens > self._limit // 2:
            return None
        if question.rotate and prompts[0].length <= self._limit:
            prompts += [writer.write(question, layout, texts, turn, known) for turn in range(1, count)]
        refuse_too_long(question, max(prompt.length for prompt in prompts), self._limit)
        return LettersQuestion(index, question, tuple(prompts), labels)


def _writer(model: Model, template: Template, readout: Readout, length: TextLength) -> PromptWriter:
    kind = DirectOptionsWriter if template.name == DIRECT_OPTIONS else PromptWriter
    return kind(model, template, readout, length)
