"""`POST /v1/systemone` and `GET /v1/models`."""

from datetime import UTC, datetime

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from semif_adapter.contract.settings import Settings
from semif_adapter.contract.strict_json import read_json
from semif_adapter.forms.systemone.answers import to_response
from semif_adapter.forms.systemone.models import check_model, model_list
from semif_adapter.forms.systemone.parse import is_ours, parse_system_one
from semif_adapter.forms.systemone.questions import to_questions
from semif_adapter.forms.systemone.types import SystemOneInvocation, SystemOneRequest
from semif_adapter.http.authentication import check_key
from semif_adapter.http.media_type import check_media_type
from semif_adapter.http.replies import model_reply
from semif_adapter.serving.intake import Intake, Work
from semif_adapter.serving.request_queue import RequestQueue


def system_one_work(
    document: object, form: type[SystemOneInvocation], settings: Settings
) -> Work[SystemOneInvocation]:
    """What a document of this form asks of the engine. Raises InvalidRequestError."""
    request = parse_system_one(document, form, max_questions=settings.max_decisions)
    return Work(request, to_questions(request), "state-first")


def system_one_routes(settings: Settings, queue: RequestQueue, intake: Intake) -> list[Route]:
    """The routes of System One's own clients."""
    since = datetime.now(UTC).date()

    def read(body: bytes) -> Work[SystemOneInvocation]:
        work = system_one_work(read_json(body, is_ours), SystemOneRequest, settings)
        check_model(work.request.model or "", queue.engine.info, aliases=settings.model_aliases)
        return work

    async def system_one(request: Request) -> Response:
        check_key(request, settings.api_key)
        check_media_type(request)
        asked, answer = await intake.answer(request, read)
        return model_reply(to_response(asked, *answer, settings.confidence))

    async def models(request: Request) -> Response:
        check_key(request, settings.api_key)
        queue.check_ready()
        return model_reply(model_list(queue.engine.info, since))

    return [
        Route("/v1/systemone", system_one, methods=["POST"]),
        Route("/v1/models", models, methods=["GET"]),
    ]
