"""AWS as recorded replies: each is checked against botocore's model before it is given."""

from collections.abc import Callable
from typing import Any

from botocore.awsrequest import AWSResponse
from botocore.client import BaseClient
from botocore.model import OperationModel
from botocore.stub import Stubber

from semif.aws.clients import Aws

Reply = dict[str, Any] | tuple[str, str]
"""What an operation answers, or an error's code and message."""
Answer = Reply | Callable[[dict[str, Any]], Reply]
"""That, or what makes it of the request as it would be sent."""


class Recorded:
    """An Aws whose operations answer what they were told to, the last reply again and again.

    The replies come in the order in which an operation is called, from whichever thread.
    """

    def __init__(self, *services: str) -> None:
        self.aws = Aws(region="eu-central-1", endpoint_url="http://127.0.0.1:9")
        self._replies: dict[str, list[Answer]] = {}
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

    def tell(self, client: object, method: str, *replies: Answer) -> None:
        """Have `method` of `client` answer `replies`; one that AWS could not give is an error."""
        assert isinstance(client, BaseClient)
        checker = Stubber(client)  # never activated: it only checks

        def checked(reply: Reply) -> Reply:
            if isinstance(reply, dict):
                checker.add_response(method, reply)
            return reply

        def made(make: Callable[[dict[str, Any]], Reply]) -> Answer:
            return lambda request: checked(make(request))

        self._replies[client.meta.method_to_api_mapping[method]] = [
            made(reply) if callable(reply) else checked(reply) for reply in replies
        ]

    def _answer(
        self, model: OperationModel, params: dict[str, Any], **_: object
    ) -> tuple[AWSResponse, dict[str, Any]]:
        self.asked.append(model.name)
        replies = self._replies.get(model.name)
        assert replies, f"nobody said what {model.name} answers"
        answer = replies.pop(0) if len(replies) > 1 else replies[0]
        reply = answer(params["body"]) if callable(answer) else answer
        if isinstance(reply, tuple):
            error = {"Error": {"Code": reply[0], "Message": reply[1]}}
            return AWSResponse("", 400, {}, None), error
        return AWSResponse("", 200, {}, None), dict(reply)
