"""`POST /invocations`: every form of body, as SageMaker hands it on."""

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from semif_adapter.contract.settings import Settings
from semif_adapter.contract.transform_parameters import JSON_LINES
from semif_adapter.contract.wire import (
    DecisionRequest,
    DecisionResponse,
    DecisionsRequest,
    DecisionsResponse,
    ErrorBody,
)
from semif_adapter.forms.decisions import DecisionForm, DecisionsForm
from semif_adapter.forms.form import Form
from semif_adapter.forms.invocations import FormKey, form_of, read_document
from semif_adapter.forms.openai_decisions.form import OpenAIInvocationForm
from semif_adapter.forms.openai_decisions.types import (
    OpenAIDecisionInvocation,
    OpenAIDecisionResponse,
    OpenAIErrorBody,
)
from semif_adapter.forms.sample import (
    SampleDecisionForm,
    SampleDecisionsForm,
    SampleErrorBody,
    SampleOverloadBody,
    SampleResponse,
    SampleResponses,
)
from semif_adapter.forms.systemone.form import SystemOneInvocationForm
from semif_adapter.forms.systemone.types import (
    FaultBody,
    InvalidRequestBody,
    SystemOneInvocation,
    SystemOneResponse,
)
from semif_adapter.http.replies import form_reply
from semif_adapter.http.routes.authentication import check_key
from semif_adapter.http.routes.media_type import JSON, check_media_type
from semif_adapter.http.routes.openapi import EXAMPLES, Operation
from semif_adapter.http.routes.transform_jobs import only_line, refusals_as_answers
from semif_adapter.serving.intake import Intake

FORM_TYPES: dict[FormKey, type[Form]] = {
    "decision": DecisionForm,
    "decisions": DecisionsForm,
    "questions": SystemOneInvocationForm,
    "input": OpenAIInvocationForm,
}


SAMPLES: dict[FormKey, type[Form]] = {"decision": SampleDecisionForm, "decisions": SampleDecisionsForm}


def _form_type(key: FormKey, document: dict[str, Any], settings: Settings) -> type[Form]:
    parameters = document.get("parameters")
    asked = parameters.get("reply") if isinstance(parameters, dict) else None
    style = asked if asked is not None else settings.reply
    return (SAMPLES if style == "sample" and key in SAMPLES else FORM_TYPES)[key]


def invocations_operation(settings: Settings, intake: Intake) -> Operation:
    """The route; in a transform job's container its lasting refusals are answers."""

    def read_line(body: bytes) -> Form:
        return read(only_line(body))

    def read(body: bytes) -> Form:
        document = read_document(body)
        form = _form_type(form_of(document), document, settings)
        with form.refusing():
            return form.parse(document, settings)

    async def invocations(request: Request) -> Response:
        check_key(request, settings.api_keys)
        media_type = check_media_type(request, (JSON, JSON_LINES))
        return form_reply(*await intake.answer(request, read_line if media_type == JSON_LINES else read))

    return Operation(
        "POST",
        "/invocations",
        refusals_as_answers(invocations) if settings.batch else invocations,
        "Score one decision, several about one state, System One's questions or OpenAI's",
        description="A body of application/jsonlines is taken too, if it is one line.",
        bodies=(DecisionRequest, DecisionsRequest, SystemOneInvocation, OpenAIDecisionInvocation),
        examples=tuple(EXAMPLES),
        replies=(
            DecisionResponse,
            DecisionsResponse,
            SystemOneResponse,
            OpenAIDecisionResponse,
            SampleResponse,
            SampleResponses,
        ),
        refusals={
            ErrorBody: (400, 401, 408, 413, 415, 431, 500, 503),
            InvalidRequestBody: (422,),
            FaultBody: (500, 503),
            OpenAIErrorBody: (400, 500, 503),
            SampleErrorBody: (400, 500),
            SampleOverloadBody: (503,),
        },
        asks_for_key=True,
    )
