"""What a route is, and `GET /openapi.json`: every one of them, from the wire types themselves."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

from pydantic import BaseModel
from pydantic.json_schema import JsonSchemaMode, models_json_schema

from semif_adapter.contract.settings import Settings
from semif_adapter.http.routes.transform_jobs import Handler

OPENAPI_VERSION = "3.1.0"
API_VERSION = "1.0"
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
_OPENAI: Json = {
    "model": "gpt-6-luna",
    "input": _STATE,
    "questions": [
        {"type": "predicate", "name": "refund", "instructions": "The customer wants money back."},
        {
            "type": "choice",
            "name": "team",
            "instructions": "Which team should handle this ticket?",
            "choices": [{"value": "billing", "description": "Charges and refunds"}, {"value": "shipping"}],
        },
        {
            "type": "score",
            "instructions": "How angry is the customer?",
            "levels": [{"label": "calm"}, {"label": "angry"}, {"label": "furious"}],
        },
    ],
}
EXAMPLES: dict[str, Json] = {
    "decision": {"decision": _DECISION},
    "decisions": {"decisions": [_DECISION, _DECISION | {"id": "again"}]},
    "system-one": _SYSTEM_ONE,
    "openai-decisions": _OPENAI,
}


@dataclass(frozen=True)
class Operation:
    """One route: who answers it, and what the document says of it."""

    method: Literal["GET", "POST"]
    path: str
    handler: Handler
    summary: str
    _: KW_ONLY
    description: str | None = None
    bodies: tuple[type[BaseModel], ...] = ()
    """What may be sent."""
    examples: tuple[str, ...] = ()
    """Of a body, by their names in EXAMPLES."""
    replies: tuple[type[BaseModel], ...] = ()
    """What a 200 may hold, where that is of our own types."""
    other_reply: tuple[str, str] | None = None
    """The media type of a 200 otherwise, and what JSON Schema calls its content."""
    refusals: Mapping[type[BaseModel], tuple[int, ...]]
    """The other statuses, by the type of their bodies."""
    asks_for_key: bool = False
    """Whether it needs the API key, where one is set."""

    def describe(self, settings: Settings) -> Json:
        """The document's entry for it."""
        entry: Json = {"summary": self.summary}
        if self.description:
            entry["description"] = self.description
        if self.bodies:
            content = _json(self.bodies)
            content["application/json"]["examples"] = {
                name: {"value": EXAMPLES[name]} for name in self.examples
            }
            entry["requestBody"] = {"required": True, "content": content}
        entry["responses"] = {"200": {"description": "the answer", "content": self._content()}} | {
            str(status): {"description": REFUSED[status], "content": _json(self._refused_with(status))}
            for status in sorted({status for statuses in self.refusals.values() for status in statuses})
        }
        if self.asks_for_key and settings.api_keys:
            entry["security"] = [{"bearer": []}]
        return entry

    def _refused_with(self, status: int) -> list[type[BaseModel]]:
        return [body for body, statuses in self.refusals.items() if status in statuses]

    def _content(self) -> Json:
        if self.other_reply:
            media_type, schema_type = self.other_reply
            return {media_type: {"schema": {"type": schema_type}}}
        return _json(self.replies)


def openapi(operations: Sequence[Operation], settings: Settings) -> bytes:
    """The document, as JSON text."""
    models: list[tuple[type[BaseModel], JsonSchemaMode]] = [
        *((model, "validation") for operation in operations for model in operation.bodies),
        *(
            (model, "serialization")
            for operation in operations
            for model in (*operation.replies, *operation.refusals)
        ),
    ]
    _, definitions = models_json_schema(
        list(dict.fromkeys(models)), ref_template="#/components/schemas/{model}"
    )
    schemas = definitions["$defs"]
    schemas["DecisionsRequest"]["properties"]["decisions"]["maxItems"] = settings.max_decisions
    for form in ("SystemOneInvocation", "SystemOneRequest"):
        schemas[form]["properties"]["questions"]["maxProperties"] = settings.max_decisions
    for form in ("OpenAIDecisionInvocation", "OpenAIDecisionRequest"):
        schemas[form]["properties"]["questions"]["maxItems"] = settings.max_decisions
    document = {
        "openapi": OPENAPI_VERSION,
        "info": {"title": "Semif decisions", "version": API_VERSION},
        "paths": {
            operation.path: {operation.method.lower(): operation.describe(settings)}
            for operation in operations
        },
        "components": {
            "schemas": schemas,
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
        },
    }
    return json.dumps(document, separators=(",", ":")).encode()


def _json(models: Sequence[type[BaseModel]]) -> Json:
    schemas = [{"$ref": f"#/components/schemas/{model.__name__}"} for model in models]
    return {"application/json": {"schema": schemas[0] if len(schemas) == 1 else {"anyOf": schemas}}}
