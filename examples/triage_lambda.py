"""A Lambda behind an API Gateway that answers in time, whatever the endpoint does.

API Gateway gives up after 29 seconds and answers for you, while the Lambda goes on and is paid for. So the
time that is left bounds the call, with a second kept back for the answer; who asked learns that it was the
model that was late, and may ask again.

Environment: SEMIF_ENDPOINT, the endpoint's name (`semif-prod`), or SEMIF_URL, an adapter's address.
"""

import json
import os
from typing import Any, Literal

from semif import DecisionClient, DecisionError
from semif.client.errors import AnswerTimeoutError, NoEndpointError, RequestRefusedError

GATEWAY_SECONDS = 29.0
"""Of a REST API, unless its quota was raised; an HTTP API has 30. Read on 2026-11-30:
https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-execution-service-limits-table.html"""
KEPT_BACK_SECONDS = 1.0
Team = Literal["billing", "shipping", "technical"]

# Once for many requests: connections stay open while the Lambda is warm.
client = DecisionClient(os.environ.get("SEMIF_ENDPOINT"), url=os.environ.get("SEMIF_URL"))


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Which team handles the ticket in the request's body, or why nobody said."""
    left = min(GATEWAY_SECONDS, context.get_remaining_time_in_millis() / 1000) - KEPT_BACK_SECONDS
    try:
        ticket = json.loads(event["body"])["ticket"]
        result = client.decide(ticket, "Which team should handle this ticket?", Team, timeout=max(left, 0.1))
    except NoEndpointError:  # a refusal too, and not for what was sent
        return _answer(503, {"error": "the model cannot be asked now"})
    except (ValueError, LookupError, TypeError, RequestRefusedError):
        return _answer(400, {"error": "send an object with a ticket, a text"})
    except AnswerTimeoutError:
        return _answer(504, {"error": "the model took too long"})
    except DecisionError:
        return _answer(503, {"error": "the model cannot be asked now"})
    return _answer(200, {"team": result.choice, "probability": result.probability})


def _answer(status: int, body: dict[str, object]) -> dict[str, Any]:
    return {"statusCode": status, "headers": {"Content-Type": "application/json"}, "body": json.dumps(body)}
