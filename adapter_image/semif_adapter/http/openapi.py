"""`GET /openapi.json`: every route, its request and its replies, from the wire types themselves."""

import json
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import JsonSchemaMode, models_json_schema

from semif_adapter.contract.settings import Settings
from semif_adapter.contract.wire import (
    DecisionRequest,
    DecisionResponse,
    DecisionsRequest,
    DecisionsResponse,
    ErrorBody,
    Ready,
)
from semif_adapter.forms.systemone.types import (
    FaultBody,
    InvalidRequestBody,
    ModelList,
    SystemOneInvocation,
    SystemOneRequest,
    SystemOneResponse,
)

OPENAPI_VERSION = "3.1.0"
API_VERSION = "1.0"
REQUESTS = (DecisionRequest, DecisionsRequest, SystemOneInvocation, SystemOneRequest)
REPLIES = (
    DecisionResponse,
    DecisionsResponse,
    SystemOneResponse,
    ModelList,
    Ready,
    ErrorBody,
    FaultBody,
    InvalidRequestBody,
)

REFUSED = {
    400: "the request is wrong, or its prompt too long",
    401: "no API key, or a wrong one",
    404: "no such model",
    408: "the body came too slowly",
    413: "the body is too large",
    415: "the body is not JSON, or its content encoding is not known",
    422: "the request is wrong, or its prompt too long",
    429: "no room now: the retry-after headers say when to come back",
    431: "the request line and headers are too large",
    500: "the engine could not give an honest answer",
    503: "not ready, or no room now: the body says when to come back",
}

Json = dict[str, Any]

_STATE = "My card was charged twice for the same order."
_DECISION: Json = {
    "id": "team",
    "state": _STATE,
    "question": "Which team should handle this ticket?",
    "options": [{"id": "billing", "description": "Charges and refunds"}, {"id": "shipping"}],
}
_SYSTEM_ONE: Json = {
    "model": "jev-latest",
    "state": _STATE,
    "questions": {
        "refund": {"type": "noul", "instructions": "Does the customer want money back?"},
        "team": {"type": "choice", "criteria": {"billing": "Charges and refunds", "shipping": None}},
        "anger": {
            "type": "score",
            "instructions": "How angry is the customer?",
            "criteria": ["calm", "angry", "furious"],
        },
    },
}
EXAMPLES: dict[str, Json] = {
    "decision": {"decision": _DECISION},
    "decisions": {"decisions": [_DECISION, _DECISION | {"id": "again"}]},
    "system-one": _SYSTEM_ONE,
}


def openapi(settings: Settings) -> bytes:
    """The document, as JSON text."""
    models: list[tuple[type[BaseModel], JsonSchemaMode]] = [
        *((model, "validation") for model in REQUESTS),
        *((model, "serialization") for model in REPLIES),
    ]
    _, definitions = models_json_schema(models, ref_template="#/components/schemas/{model}")
    schemas = definitions["$defs"]
    schemas["DecisionsRequest"]["properties"]["decisions"]["maxItems"] = settings.max_decisions
    for form in ("SystemOneInvocation", "SystemOneRequest"):
        schemas[form]["properties"]["questions"]["maxProperties"] = settings.max_decisions
    secured: Json = {"security": [{"bearer": []}]} if settings.api_key else {}
    document = {
        "openapi": OPENAPI_VERSION,
        "info": {"title": "Semif decisions", "version": API_VERSION},
        "paths": {
            "/ping": {
                "get": {
                    "summary": "Whether requests are taken",
                    "responses": _replies(_json(Ready), ErrorBody, (431, 503)),
                }
            },
            "/invocations": {
                "post": {
                    "summary": "Score one decision, several about one state, or System One's questions",
                    "description": "A body of application/jsonlines is taken too, if it is one line.",
                    "requestBody": _body(
                        DecisionRequest, DecisionsRequest, SystemOneInvocation, examples=tuple(EXAMPLES)
                    ),
                    "responses": _replies(
                        _json(DecisionResponse, DecisionsResponse, SystemOneResponse),
                        ErrorBody,
                        (400, 401, 408, 413, 415, 431, 500, 503),
                    )
                    | _refusals(InvalidRequestBody, (422,)),
                    **secured,
                }
            },
            "/execution-parameters": {
                "get": {
                    "summary": "How a SageMaker transform job should send its lines",
                    "responses": _replies(
                        {"application/json": {"schema": {"type": "object"}}}, ErrorBody, (431,)
                    ),
                }
            },
            "/v1/systemone": {
                "post": {
                    "summary": "Answer System One's questions about one state",
                    "requestBody": _body(SystemOneRequest, examples=("system-one",)),
                    "responses": _replies(
                        _json(SystemOneResponse), FaultBody, (401, 404, 408, 413, 415, 429, 431, 500)
                    )
                    | _refusals(InvalidRequestBody, (422,)),
                    **secured,
                }
            },
            "/v1/models": {
                "get": {
                    "summary": "The model that answers",
                    "responses": _replies(_json(ModelList), FaultBody, (401, 429, 431)),
                    **secured,
                }
            },
            "/metrics": {
                "get": {
                    "summary": "Figures in Prometheus' text format",
                    "responses": _replies({"text/plain": {"schema": {"type": "string"}}}, ErrorBody, (431,)),
                }
            },
            "/openapi.json": {
                "get": {
                    "summary": "This document",
                    "responses": _replies(
                        {"application/json": {"schema": {"type": "object"}}}, ErrorBody, (431,)
                    ),
                }
            },
        },
        "components": {
            "schemas": schemas,
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
        },
    }
    return json.dumps(document, separators=(",", ":")).encode()


def _body(*models: type[BaseModel], examples: tuple[str, ...]) -> Json:
    content = _json(*models)
    content["application/json"]["examples"] = {name: {"value": EXAMPLES[name]} for name in examples}
    return {"required": True, "content": content}


def _replies(content: Json, error: type[BaseModel], statuses: tuple[int, ...]) -> Json:
    return {"200": {"description": "the answer", "content": content}} | _refusals(error, statuses)


def _refusals(error: type[BaseModel], statuses: tuple[int, ...]) -> Json:
    return {str(status): {"description": REFUSED[status], "content": _json(error)} for status in statuses}


def _json(*models: type[BaseModel]) -> Json:
    schemas = [{"$ref": f"#/components/schemas/{model.__name__}"} for model in models]
    return {"application/json": {"schema": schemas[0] if len(schemas) == 1 else {"anyOf": schemas}}}
