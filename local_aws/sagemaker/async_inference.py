"""Asynchronous endpoints: InvokeEndpointAsync fills a queue, threads bring its requests to the container.

Requests and answers lie in S3, and topics are told, as in SageMaker's developer guide ("Asynchronous
inference"). What it does not say of a failure (the name of its object, and that this holds the container's
reply) is ours.
"""

import http.client
import json
import queue
import threading
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from local_aws.core.api import ApiError, Params
from local_aws.core.context import LocalContext
from local_aws.core.s3_address import bucket_and_key
from local_aws.sagemaker.hosts.host import ContainerReply, ModelHost

DEFAULT_TTL_SECONDS = 21_600
DEFAULT_INVOCATION_SECONDS = 900
DEFAULT_CONCURRENCY = 4
"""SageMaker chooses an optimal value, which it does not tell."""
MAX_REASON = 500


@dataclass(frozen=True)
class QueuedRequest:
    """One accepted request: what was asked, and where its answer or failure goes."""

    asked: Params
    inference_id: str
    output: str
    failure: str | None
    received: datetime = field(default_factory=lambda: datetime.now(UTC))


class _FailedError(Exception):
    """A request that gets no answer: why, and what the failure object holds."""

    def __init__(self, reason: str, content: bytes | None = None) -> None:
        super().__init__(reason)
        self.content = reason.encode() if content is None else content


class RequestQueue:
    """The queue of one endpoint. `host` is who answers now; an update changes it."""

    def __init__(
        self, context: LocalContext, endpoint: str, config: Params, host: Callable[[], ModelHost]
    ) -> None:
        self.config = config
        """The AsyncInferenceConfig."""
        self._context = context
        self._endpoint = endpoint
        self._host = host
        self._output: Params = config["OutputConfig"]
        self._waiting: queue.SimpleQueue[QueuedRequest | None] = queue.SimpleQueue()
        self._threads = config.get("ClientConfig", {}).get(
            "MaxConcurrentInvocationsPerInstance", DEFAULT_CONCURRENCY
        )
        for _ in range(self._threads):
            threading.Thread(target=self._work, daemon=True).start()

    def accept(self, asked: Params) -> Params:
        """InvokeEndpointAsync: queue the request, tell where its answer will be. Raises ApiError."""
        if asked.get("Body") or not asked.get("InputLocation"):
            raise ApiError("ValidationError", "the local AWS takes requests by InputLocation alone")
        name = asked.get("Filename") or f"{uuid.uuid4()}.out"
        folder = asked.get("S3OutputPathExtension", "").strip("/")
        place = "/".join(part for part in (folder, name) if part)
        failures = self._output.get("S3FailurePath")
        request = QueuedRequest(
            asked,
            asked.get("InferenceId") or str(uuid.uuid4()),
            f"{self._output['S3OutputPath'].rstrip('/')}/{place}",
            f"{failures.rstrip('/')}/{place.removesuffix('.out')}-error.out" if failures else None,
        )
        self._waiting.put(request)
        reply = {"InferenceId": request.inference_id, "OutputLocation": request.output}
        return reply | ({"FailureLocation": request.failure} if request.failure else {})

    def stop(self) -> list[QueuedRequest]:
        """End the threads after what they are at; returns what was still waiting."""
        left = []
        while True:
            try:
                request = self._waiting.get_nowait()
            except queue.Empty:
                break
            if request is not None:
                left.append(request)
        for _ in range(self._threads):
            self._waiting.put(None)
        return left

    def take_over(self, requests: list[QueuedRequest]) -> None:
        """Go on with what waited in the queue of the configuration before."""
        for request in requests:
            self._waiting.put(request)

    def _work(self) -> None:
        while (request := self._waiting.get()) is not None:
            try:
                reply = self._answer(request)
                self._store(request.output, reply.body, reply.content_type)
            except _FailedError as error:
                if request.failure is not None:
                    self._store(request.failure, error.content, "application/json")
                self._publish(request, "ErrorTopic", failureReason=str(error)[:MAX_REASON])
            else:
                response = {"contentType": reply.content_type, "outputLocation": request.output}
                self._publish(request, "SuccessTopic", responseParameters=response)

    def _answer(self, request: QueuedRequest) -> ContainerReply:
        asked = request.asked
        waited = (datetime.now(UTC) - request.received).total_seconds()
        if waited > asked.get("RequestTTLSeconds", DEFAULT_TTL_SECONDS):
            raise _FailedError("the request expired in the queue")
        bucket, key = bucket_and_key(asked["InputLocation"])
        try:
            body = self._context.s3.get_object(Bucket=bucket, Key=key)["Body"].read()
        except (BotoCoreError, ClientError) as error:
            raise _FailedError(f"the request could not be read: {error}") from None
        headers = {"X-Amzn-SageMaker-Inference-Id": request.inference_id}
        passed_on = {
            "ContentType": "Content-Type",
            "Accept": "Accept",
            "CustomAttributes": "X-Amzn-SageMaker-Custom-Attributes",
        }
        headers |= {header: asked[name] for name, header in passed_on.items() if asked.get(name)}
        host = self._host()
        seconds = asked.get("InvocationTimeoutSeconds", DEFAULT_INVOCATION_SECONDS)
        try:
            stream = host.invoke_streaming(body, headers, seconds=seconds)
            reply = ContainerReply(stream.status, stream.content_type, b"".join(stream.blocks))
        except TimeoutError:
            raise _FailedError(f"no answer from the container within {seconds} s") from None
        except (OSError, http.client.HTTPException) as error:
            raise _FailedError(f"the container gave no whole answer: {error}") from None
        if not stream.has_length:
            raise _FailedError(
                f"The response from container {host.variant_name} did not specify the required "
                "Content-Length header"
            )
        if not 200 <= reply.status < 300:
            side = "client" if 400 <= reply.status < 500 else "server"
            text = reply.body.decode(errors="replace")
            raise _FailedError(
                f'Received {side} error ({reply.status}) from {host.variant_name} with message "{text}"',
                reply.body,
            )
        return reply

    def _store(self, uri: str, content: bytes, content_type: str) -> None:
        bucket, key = bucket_and_key(uri)
        self._context.s3.put_object(Bucket=bucket, Key=key, Body=content, ContentType=content_type)

    def _publish(self, request: QueuedRequest, topic: str, **outcome: Any) -> None:
        arn = self._output.get("NotificationConfig", {}).get(topic)
        if not arn:
            return
        asked = request.asked
        message = {
            "awsRegion": self._context.region,
            "eventTime": _time(datetime.now(UTC)),
            "receivedTime": _time(request.received),
            "invocationStatus": "Completed" if topic == "SuccessTopic" else "Failed",
            "requestParameters": {
                "endpointName": self._endpoint,
                "inputLocation": asked["InputLocation"],
                **({"contentType": asked["ContentType"]} if asked.get("ContentType") else {}),
            },
            **outcome,
            "inferenceId": request.inference_id,
            "eventVersion": "1.0",
            "eventSource": "aws:sagemaker",
            "eventName": "InferenceResult",
        }
        self._context.sns.publish(TopicArn=arn, Message=json.dumps(message))


def _time(moment: datetime) -> str:
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
