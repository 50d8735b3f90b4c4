"""The Decisions API's form, behind SageMaker and on its own route."""

from collections.abc import Sequence
from typing import Any, ClassVar, Self

from semif_adapter.contract.errors import AdapterError, Refusal
from semif_adapter.contract.settings import Settings
from semif_adapter.contract.wire import Result, SharedTiming, WireModel
from semif_adapter.forms.confidence import Confidence
from semif_adapter.forms.form import Form
from semif_adapter.forms.openai_decisions.answers import to_response
from semif_adapter.forms.openai_decisions.parse import parse_request
from semif_adapter.forms.openai_decisions.questions import to_questions
from semif_adapter.forms.openai_decisions.refusal import refusal
from semif_adapter.forms.openai_decisions.types import OpenAIDecisionInvocation, OpenAIDecisionRequest


class OpenAIInvocationForm(Form):
    """Questions about one input, sent to `POST /invocations`."""

    layout = "state-first"
    wire: ClassVar[type[OpenAIDecisionInvocation]] = OpenAIDecisionInvocation
    behind_sagemaker: ClassVar[bool] = True

    def __init__(self, request: OpenAIDecisionInvocation, confidence: Confidence) -> None:
        self.request = request
        self.questions = to_questions(request)
        self._confidence = confidence

    @classmethod
    def parse(cls, document: Any, settings: Settings) -> Self:
        """What `document` asks. Raises InvalidRequestError with every problem in it."""
        request = parse_request(document, cls.wire, max_questions=settings.max_decisions)
        return cls(request, settings.confidence)

    def to_response(self, results: Sequence[Result], timing: SharedTiming) -> WireModel:
        """An answer in each question's place."""
        return to_response(self.request, results, timing, self._confidence)

    @classmethod
    def refusal(cls, error: AdapterError) -> Refusal:
        """The error as OpenAI's clients read it."""
        return refusal(error, behind_sagemaker=cls.behind_sagemaker)


class OpenAIDecisionsForm(OpenAIInvocationForm):
    """The same, sent to `POST /v1/decisions` by OpenAI's own clients."""

    wire: ClassVar[type[OpenAIDecisionInvocation]] = OpenAIDecisionRequest
    behind_sagemaker: ClassVar[bool] = False
