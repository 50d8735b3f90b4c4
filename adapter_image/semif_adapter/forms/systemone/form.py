"""System One's form, behind SageMaker and on its own route."""

from collections.abc import Sequence
from typing import Any, ClassVar, Self

from semif_adapter.contract.errors import AdapterError, Refusal
from semif_adapter.contract.settings import Settings
from semif_adapter.contract.wire import Result, SharedTiming, WireModel
from semif_adapter.forms.confidence import Confidence
from semif_adapter.forms.form import Form
from semif_adapter.forms.systemone.answers import to_response
from semif_adapter.forms.systemone.parse import parse_system_one
from semif_adapter.forms.systemone.questions import to_questions
from semif_adapter.forms.systemone.refusal import refusal
from semif_adapter.forms.systemone.types import SystemOneInvocation, SystemOneRequest


class SystemOneInvocationForm(Form):
    """Questions about one state, sent to `POST /invocations`."""

    layout = "state-first"
    wire: ClassVar[type[SystemOneInvocation]] = SystemOneInvocation
    behind_sagemaker: ClassVar[bool] = True

    def __init__(self, request: SystemOneInvocation, confidence: Confidence) -> None:
        self.request = request
        self.questions = to_questions(request)
        self._confidence = confidence

    @classmethod
    def parse(cls, document: Any, settings: Settings) -> Self:
        """What `document` asks. Raises InvalidRequestError with every problem in it."""
        request = parse_system_one(document, cls.wire, max_questions=settings.max_decisions)
        return cls(request, settings.confidence)

    def to_response(self, results: Sequence[Result], timing: SharedTiming) -> WireModel:
        """An answer under each question's id."""
        return to_response(self.request, results, timing, self._confidence)

    @classmethod
    def refusal(cls, error: AdapterError) -> Refusal:
        """The error as System One's clients read it."""
        return refusal(error, behind_sagemaker=cls.behind_sagemaker)


class SystemOneForm(SystemOneInvocationForm):
    """The same, sent to `POST /v1/systemone` by System One's own clients."""

    wire: ClassVar[type[SystemOneInvocation]] = SystemOneRequest
    behind_sagemaker: ClassVar[bool] = False
