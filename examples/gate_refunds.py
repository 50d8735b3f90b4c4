"""Refunds behind a gate: rights first, then a policy over a model's answer, then the act, each written down.

    python examples/gate_refunds.py --url http://127.0.0.1:8080 examples/refunds.jsonl --audit audit.jsonl

See docs/policy.md.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any, TextIO

from semif import DecisionClient, Policy
from semif.errors import SemifError
from semif.policy import load_policy

QUESTION = "What should happen with this refund request?"
OPTIONS = {
    "approve": "Pay the money back",
    "reject": "Refuse, because the rules of the shop do not allow it",
    "ask": "Ask the customer for more",
}
MAY_REFUND_UP_TO = {"lea": 2_000, "tom": 50}
"""Stands for your directory: who may pay back how much."""


def handle(request: dict[str, Any], client: DecisionClient, policy: Policy, audit: TextIO) -> str:
    """What becomes of one request. The model sees the order and the message, and never who asks."""
    if not may_refund(request):
        return f"refused: {request['clerk']} may not pay back {request['order']['amount']}"
    state = {key: request[key] for key in ("order", "customer", "message")}
    outcome = policy.decide(client, state, QUESTION, OPTIONS, id=request["id"])
    audit.write(outcome.model_dump_json() + "\n")
    match outcome.option:
        case "approve":
            return pay_back(request)
        case "reject":
            return "rejected"
        case "ask":
            return "asked the customer for more"
        case _:
            return f"waits for a person: {outcome.reason}"


def may_refund(request: dict[str, Any]) -> bool:
    """Authorisation: a look-up, no model."""
    return bool(request["order"]["amount"] <= MAY_REFUND_UP_TO.get(request["clerk"], -1))


def pay_back(request: dict[str, Any]) -> str:
    """The act, which trusts nobody: whatever led here, it asks for the right again."""
    if not may_refund(request):
        raise PermissionError(f"{request['clerk']} may not pay back {request['order']['amount']}")
    return f"paid {request['order']['amount']} back"


def main() -> None:
    """Handle the requests of a file, one line each."""
    parser = argparse.ArgumentParser(description="Refunds behind a gate.")
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument("--url", help="an adapter on this machine, as `make serve` starts it")
    where.add_argument("--endpoint", help="a SageMaker endpoint")
    parser.add_argument("--policy", type=Path, default=Path(__file__).with_name("refunds.policy.toml"))
    parser.add_argument("--audit", type=Path, required=True, help="a file to append outcomes to")
    parser.add_argument("requests", type=Path)
    given = parser.parse_args()
    try:
        policy = load_policy(given.policy)
        requests = map(json.loads, given.requests.read_text().splitlines())
        with DecisionClient(given.endpoint, url=given.url) as client, given.audit.open("a") as audit:
            for request in requests:
                print(f"{request['id']}: {handle(request, client, policy, audit)}")
    except (SemifError, OSError, ValueError) as error:  # a line that is no JSON is a ValueError
        sys.exit(str(error))


if __name__ == "__main__":
    main()
