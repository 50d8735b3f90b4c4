"""InvokeEndpoint: one call to SageMaker, and what it answers with when it gives no answer.

A container's own error comes as `ModelError` (HTTP 424) that holds its status and body; everything else is
SageMaker's, or the connection's.
"""

import asyncio
import re
from collections.abc import Iterator
from contextlib import closing
from typing import TYPE_CHECKING, Any

import urllib3
from botocore import exceptions as boto_errors
from botocore.config import Config

from semif.aws.clients import INVOKE, describe, is_denied, is_unknown_caller
from semif.client.errors import (
    AccessError,
    AnswerTimeoutError,
    DecisionError,
    NoEndpointError,
    RequestRefusedError,
    ThrottledError,
    UnavailableError,
    UnknownReplyError,
    UnreachableError,
)
from semif.client.reply import container_error
from semif.client.sending.call_ids import CallIds
from semif.client.sending.http_sender import HttpSender, NoReplyError, OversizeReplyError, ProxyAuthError
from semif.client.sending.signing import InvokeEndpoint, tls_context
from semif.client.sending.transport import MEDIA_TYPE, Server, Transport
from semif.errors import SemifError
from semif.web.connections import proxy_for, what_happened

if TYPE_CHECKING:
    from mypy_boto3_sagemaker_runtime import SageMakerRuntimeClient

SAGEMAKERS_SECONDS = 60
"""How long SageMaker waits for a container: who waits less loses answers that come."""

_THROTTLES = {"Throttling", "ThrottlingException", "ThrottledException", "TooManyRequestsException"}
_UNAVAILABLE = {
    "ServiceUnavailable",
    "ServiceUnavailableException",
    "ModelNotReadyException",
    "InternalStreamFailure",
}
_NO_ENDPOINT = re.compile(r"Endpoint \S+ (.* )?not (found|InService)\b")
"""How a ValidationError, the one code for all that is wrong with a request (botocore's model of the runtime),
tells of an endpoint: `Endpoint NAME of account NUMBER not found.` where it was deleted (an engineer of
SageMaker's in github.com/aws/amazon-sagemaker-examples/issues/559, read 2026-12-01, not seen). The AWS on
this machine says in which status it is, too."""


def invoke_config(connections: int) -> Config:
    """botocore's settings for InvokeEndpoint, with so many connections kept open."""
    return INVOKE.merge(Config(max_pool_connections=connections))


class EndpointTransport(Transport):
    """Sends bodies to one endpoint: botocore signs them and reads the errors."""

    def __init__(
        self,
        client: "SageMakerRuntimeClient",
        endpoint: str,
        *,
        owned: bool = False,
        profile: str | None = None,
        connections: int | None = None,
    ) -> None:
        """An `owned` client ends with the transport; another one is its maker's to close.

        The client's timeouts, proxies and, unless others are given, number of connections hold here too.
        `profile` is looked into for a bundle of certificates. Raises SemifError for a proxy that is none.
        """
        config: Any = client.meta.config  # the stubs lack most of it
        connections = connections or config.max_pool_connections
        sender = HttpSender(
            proxy=proxy_for(client.meta.endpoint_url, config.proxies),
            tls=lambda: tls_context(client, profile),
            connections=connections,
            connect_seconds=config.connect_timeout,
        )
        super().__init__(sender, connections=connections, attempt_seconds=config.read_timeout)
        self._client = client
        self._endpoint = endpoint
        self._owned = owned
        self._call = InvokeEndpoint(client, endpoint)

    @property
    def asked(self) -> str:
        """The endpoint's name."""
        return self._endpoint

    @property
    def server(self) -> Server:
        """The endpoint, and SageMaker's host in front of it."""
        return Server.at(self._client.meta.endpoint_url, endpoint=self._endpoint)

    async def exchange(self, body: bytes, ids: CallIds) -> bytes:
        """As `Transport.exchange`."""
        try:
            signed = await asyncio.to_thread(self._call.signed, body, ids)
            if isinstance(signed, bytes):
                return signed
            reply = await self.sender.post(signed.url, signed.headers, signed.body)
            if reply.status >= 300:
                self._call.raise_for(reply)
            return reply.body
        except ProxyAuthError as error:
            raise AccessError(f"{self._endpoint} {error.words}", status=407) from None
        except OversizeReplyError as error:
            raise UnknownReplyError(f"{self._endpoint} {error.words}") from None
        except NoReplyError as error:
            lost = boto_errors.EndpointConnectionError(endpoint_url=error.url, error=error.words)
            raise endpoint_error(self._endpoint, lost) from None
        except (boto_errors.ClientError, boto_errors.BotoCoreError) as error:
            raise endpoint_error(self._endpoint, error) from error

    def stream(self, body: bytes) -> Iterator[bytes]:
        """The container's reply in blocks, as they come. Raises DecisionError, where it breaks off too."""
        try:
            reply = self._client.invoke_endpoint_with_response_stream(
                EndpointName=self._endpoint, Body=body, ContentType=MEDIA_TYPE, Accept=MEDIA_TYPE
            )
            with closing(reply["Body"]) as events:
                for event in events:
                    yield event.get("PayloadPart", {}).get("Bytes", b"")
        except (boto_errors.ClientError, boto_errors.BotoCoreError) as error:
            raise endpoint_error(self._endpoint, error) from error
        except urllib3.exceptions.HTTPError as error:  # while the blocks come, botocore lets them through
            raise UnreachableError(
                f"{self._endpoint} {what_happened(error)} while it answered; ask again"
            ) from None

    def close(self) -> None:
        """Let the connections go."""
        super().close()
        self._call.close()
        if self._owned:
            self._client.close()


def endpoint_error(
    endpoint: str, error: boto_errors.ClientError | boto_errors.BotoCoreError
) -> DecisionError:
    """The typed error for a failed call."""
    if isinstance(error, boto_errors.ClientError):
        return _answered(error)
    match error:
        case boto_errors.ReadTimeoutError():
            return AnswerTimeoutError(
                f"{endpoint} gave no answer in time; shorten the state, or ask fewer questions at once"
            )
        case (
            boto_errors.HTTPClientError() | boto_errors.ConnectionError() | boto_errors.IncompleteReadError()
        ):
            kind: type[DecisionError] = UnreachableError
        case (
            boto_errors.NoCredentialsError()
            | boto_errors.PartialCredentialsError()
            | boto_errors.CredentialRetrievalError()
            | boto_errors.TokenRetrievalError()
            | boto_errors.NoAuthTokenError()
            | boto_errors.SSOError()
        ):
            kind = AccessError
        case _:  # botocore's own check of the parameters
            kind = RequestRefusedError
    return kind(describe(error))


def _answered(error: boto_errors.ClientError) -> DecisionError:
    response = error.response
    if (original := response.get("OriginalStatusCode")) is not None:
        message = str(response.get("OriginalMessage", ""))
        return container_error("the container", int(str(original)), message.encode(errors="replace"))
    status = response.get("ResponseMetadata", {}).get("HTTPStatusCode")
    code = response.get("Error", {}).get("Code")
    if _is_of_no_endpoint(error):
        line = f"{describe(error).rstrip('.')}; deploy it, or check its name, the account and the region"
        return NoEndpointError(line, status=status, code=code)
    return _service_error_type(error, status or 0, code or "")(describe(error), status=status, code=code)


def _is_of_no_endpoint(error: boto_errors.ClientError) -> bool:
    told = error.response.get("Error", {})
    return told.get("Code") == "ValidationError" and bool(_NO_ENDPOINT.match(told.get("Message") or ""))


def _service_error_type(error: boto_errors.ClientError, status: int, code: str) -> type[DecisionError]:
    if is_denied(error) or is_unknown_caller(error):
        return AccessError
    if code in _UNAVAILABLE or status >= 500:
        return UnavailableError
    # As HTTP 400 too, and then with a null for its message.
    if code in _THROTTLES or status == 429:
        return ThrottledError
    return RequestRefusedError


def check_client(client: "SageMakerRuntimeClient") -> None:
    """Raise SemifError for a client that repeats slow calls: the container would compute each again."""
    config: Any = client.meta.config
    attempts = (config.retries or {}).get("total_max_attempts")
    if attempts != 1 or config.read_timeout <= SAGEMAKERS_SECONDS:
        raise SemifError(
            f"this sagemaker_runtime repeats requests itself or waits {SAGEMAKERS_SECONDS} s or less; make "
            'it with botocore.config.Config(read_timeout=70, retries={"total_max_attempts": 1})'
        )
    if config.proxies_config:
        raise SemifError(
            "this sagemaker_runtime has a proxies_config, which is not followed here; name the proxy in "
            "https_proxy or proxies=, and certificates in AWS_CA_BUNDLE"
        )
