"""AWS as recorded replies: each is checked against botocore's model before it is given."""

from typing import Any

from botocore.awsrequest import AWSResponse
from botocore.client import BaseClient
from botocore.model import OperationModel
from botocore.stub import Stubber

from semif.aws.clients import Aws

Reply = dict[str, Any] | tuple[str, str]
"""What an operation answers, or an error's code and message."""


class Recorded:
    """An Aws whose operations answer what they were told to, the last reply again and again.

    The replies come in the order in which an operation is called, from whichever thread.
    """

    def __init__(self, *services: str) -> None:
        self.aws = Aws(region="eu-central-1", endpoint_url="http://127.0.0.1:9")
        self._replies: dict[str, list[Reply]] = {}
        self.asked: list[str] = []
        """Names of the operations that were called."""
        for service in services:
            client = getattr(self.aws, service)
            client.meta.events.register_first(
                f"before-call.{client.meta.service_model.service_id.hyphenize()}", self._answer
            )

    def clear(self) -> None:
        """Forget all replies."""
        self._replies.clear()
        self.asked.clear()

    def tell(self, client: object, method: str, *replies: Reply) -> None:
        """Have `method` of `client` answer `replies`; one that SageMaker could not give is an error."""
        assert isinstance(client, BaseClient)
        checker = Stubber(client)  # never activated: it only checks
        for reply in replies:
            if isinstance(reply, dict):
                checker.add_response(method, reply)
        self._replies[client.meta.method_to_api_mapping[method]] = list(replies)

    def _answer(self, model: OperationModel, **_: object) -> tuple[AWSResponse, dict[str, Any]]:
        self.asked.append(model.name)
        replies = self._replies.get(model.name)
        assert replies, f"nobody said what {model.name} answers"
        reply = replies.pop(0) if len(replies) > 1 else replies[0]
        if isinstance(reply, tuple):
            error = {"Error": {"Code": reply[0], "Message": reply[1]}}
            return AWSResponse("", 400, {}, None), error
        return AWSResponse("", 200, {}, None), dict(reply)
