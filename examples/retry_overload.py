"""A botocore client that asks an overloaded endpoint again, for libraries that take a client and do not.

SageMaker tells a container's 503 as ModelError, which botocore does not repeat. The Strands Agents SDK, say,
takes such a client: SageMakerDecisionModel(endpoint_name="semif-prod", client=retry_overload(client)).
"""

import random
from typing import Any


def retry_overload(client: Any, *, attempts: int = 5, longest_seconds: float = 20.0) -> Any:
    """`client`, a sagemaker-runtime client of boto3, which now repeats what met an overloaded container.

    A request is sent at most `attempts` times, at random within 1, 2, 4 … seconds, at most `longest_seconds`.
    """

    def wait(attempts: int, response: Any, **_: Any) -> float | None:
        """Seconds to wait, None for no further attempt; `attempts` were made, the last one got `response`."""
        overloaded = response is not None and response[1].get("OriginalStatusCode") in (429, 503)
        if not overloaded or attempts >= most:
            return None
        return random.uniform(0, min(longest_seconds, 2.0 ** (attempts - 1)))  # noqa: S311 - no secret

    most = attempts
    client.meta.events.register("needs-retry.sagemaker-runtime.InvokeEndpoint", wait)
    return client
