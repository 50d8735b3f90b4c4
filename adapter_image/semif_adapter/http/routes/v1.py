"""`POST /v1/systemone`, `POST /v1/decisions`, `GET /v1/models`: the routes of other projects' own clients."""

from collections.abc import Callable
from datetime import UTC, datetime

from starlette.requests import Request
from starlette.responses import Response

from semif_adapter.contract.settings import Settings
from semif_adapter.contract.strict_json import read_json
from semif_adapter.forms.form import Form
from semif_adapter.forms.model_names import OPENAIS, SYSTEM_ONES, check_model
from semif_adapter.forms.openai_decisions.form import OpenAIDecisionsForm
from semif_adapter.forms.openai_decisions.parse import is_ours as is_openais
from semif_adapter.forms.openai_decisions.types import (
    OpenAIDecisionRequest,
    OpenAIDecisionResponse,
    OpenAIErrorBody,
)
from semif_adapter.forms.systemone.form import SystemOneForm
from semif_adapter.forms.systemone.models import model_list
from semif_adapter.forms.systemone.parse import is_ours as is_system_ones
from semif_adapter.forms.systemone.types import (
    FaultBody,
    InvalidRequestBody,
    ModelList,
    SystemOneRequest,
    SystemOneResponse,
)
from semif_adapter.http.replies import DECISIONS_PATH, form_reply, model_reply
from semif_adapter.http.routes.authentication import check_key
from semif_adapter.http.routes.media_type import check_media_type
from semif_adapter.http.routes.openapi import Operation
from semif_adapter.http.routes.transform_jobs import Handler
from semif_adapter.serving.intake import Intake
from semif_adapter.serving.request_queue import RequestQueue


def v1_operations(settings: Settings, queue: RequestQueue, intake: Intake) -> list[Operation]:
    """All three."""
    since = datetime.now(UTC).date()

    def read_system_one(body: bytes) -> Form:
        form = SystemOneForm.parse(read_json(body, is_system_ones), settings)
        check_model(form.request.model, queue.engine.info, SYSTEM_ONES if settings.model_aliases else None)
        return form

    def read_openai(body: bytes) -> Form:
        form = OpenAIDecisionsForm.parse(read_json(body, is_openais), settings)
        check_model(form.request.model, queue.engine.info, OPENAIS if settings.model_aliases else None)
        return form

    def answering(read: Callable[[bytes], Form]) -> Handler:
        async def answer(request: Request) -> Response:
            check_key(request, settings.api_keys)
            check_media_type(request)
            return form_reply(*await intake.answer(request, read))

        return answer

    async def models(request: Request) -> Response:
        check_key(request, settings.api_keys)
        queue.check_ready()
        return model_reply(model_list(queue.engine.info, since))

    return [
        Operation(
            "POST",
            "/v1/systemone",
            answering(read_system_one),
            "Answer System One's questions about one state",
            bodies=(SystemOneRequest,),
            examples=("system-one",),
            replies=(SystemOneResponse,),
            refusals={FaultBody: (401, 404, 408, 413, 415, 429, 431, 500), InvalidRequestBody: (422,)},
            asks_for_key=True,
        ),
        Operation(
            "POST",
            DECISIONS_PATH,
            answering(read_openai),
            "Answer the questions of OpenAI's Decisions API about one input",
            bodies=(OpenAIDecisionRequest,),
            examples=("openai-decisions",),
            replies=(OpenAIDecisionResponse,),
            refusals={OpenAIErrorBody: (400, 401, 404, 408, 413, 415, 429, 431, 500)},
            asks_for_key=True,
        ),
        Operation(
            "GET",
            "/v1/models",
            models,
            "The model that answers",
            replies=(ModelList,),
            refusals={FaultBody: (401, 429, 431)},
            asks_for_key=True,
        ),
    ]
