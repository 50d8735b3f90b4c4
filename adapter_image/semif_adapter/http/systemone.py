"""`POST /v1/systemone` and `GET /v1/models`: the routes of System One's own clients."""

from datetime import UTC, datetime

from starlette.requests import Request
from starlette.responses import Response

from semif_adapter.contract.settings import Settings
from semif_adapter.contract.strict_json import read_json
from semif_adapter.forms.form import Form
from semif_adapter.forms.systemone.form import SystemOneForm
from semif_adapter.forms.systemone.models import check_model, model_list
from semif_adapter.forms.systemone.parse import is_ours
from semif_adapter.forms.systemone.types import (
    FaultBody,
    InvalidRequestBody,
    ModelList,
    SystemOneRequest,
    SystemOneResponse,
)
from semif_adapter.http.authentication import check_key
from semif_adapter.http.media_type import check_media_type
from semif_adapter.http.openapi import Operation
from semif_adapter.http.replies import form_reply, model_reply
from semif_adapter.serving.intake import Intake
from semif_adapter.serving.request_queue import RequestQueue


def system_one_operations(settings: Settings, queue: RequestQueue, intake: Intake) -> list[Operation]:
    """Both routes."""
    since = datetime.now(UTC).date()

    def read(body: bytes) -> Form:
        form = SystemOneForm.parse(read_json(body, is_ours), settings)
        check_model(form.request.model or "", queue.engine.info, aliases=settings.model_aliases)
        return form

    async def system_one(request: Request) -> Response:
        check_key(request, settings.api_key)
        check_media_type(request)
        return form_reply(*await intake.answer(request, read))

    async def models(request: Request) -> Response:
        check_key(request, settings.api_key)
        queue.check_ready()
        return model_reply(model_list(queue.engine.info, since))

    return [
        Operation(
            "POST",
            "/v1/systemone",
            system_one,
            "Answer System One's questions about one state",
            bodies=(SystemOneRequest,),
            examples=("system-one",),
            replies=(SystemOneResponse,),
            refusals={FaultBody: (401, 404, 408, 413, 415, 429, 431, 500), InvalidRequestBody: (422,)},
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
