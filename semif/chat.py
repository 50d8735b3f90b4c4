"""Chat completions from an endpoint of kind `text`, whose container speaks OpenAI's form of them."""

import json
from dataclasses import dataclass

from semif.aws import Aws
from semif.errors import SemifError
from semif.invoke import invoke_endpoint


@dataclass(frozen=True)
class Completion:
    """The first choice's text, and the reply's bytes. A model that is still thinking has said nothing yet."""

    text: str
    raw: bytes


def complete(aws: Aws, endpoint: str, body: bytes) -> Completion:
    """One chat completion. Raises as `invoke_endpoint` does, and SemifError for a reply that holds none."""
    raw = invoke_endpoint(aws, endpoint, body)
    try:
        message = json.loads(raw)["choices"][0]["message"]
        return Completion(str(message.get("content") or ""), raw)
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        said = " ".join(raw.decode(errors="replace").split())[:300]
        raise SemifError(
            f"{endpoint} answered with no chat completion: {said or 'an empty reply'}; look at its log in "
            f"CloudWatch, /aws/sagemaker/Endpoints/{endpoint}"
        ) from None
