"""What InvokeEndpoint replies with, a container's refusal among it."""

import json
from dataclasses import dataclass

from local_aws.sagemaker.hosts.host import ContainerReply, ModelHost


@dataclass(frozen=True)
class Invocation:
    """InvokeEndpoint's HTTP reply."""

    status: int
    headers: dict[str, str]
    body: bytes


def model_error(reply: ContainerReply, host: ModelHost) -> Invocation:
    """How SageMaker passes a container's refusal on: ModelError, HTTP 424."""
    original = reply.body.decode(errors="replace")
    side = "client" if 400 <= reply.status < 500 else "server"
    summary = f"Received {side} error ({reply.status}) from {host.variant_name}"
    error = {
        "Message": f'{summary} with message "{original}". See the log group in LogStreamArn.',
        "OriginalStatusCode": reply.status,
        "OriginalMessage": original,
        "LogStreamArn": host.log_stream_arn,
    }
    headers = {"Content-Type": "application/json", "x-amzn-errortype": "ModelError"}
    return Invocation(424, headers, json.dumps(error).encode())
