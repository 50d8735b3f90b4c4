"""Requests as botocore writes and signs them, to be sent by somebody else, and replies as it reads them.

By botocore's `before-send` event, whose handlers may answer in the network's place: credentials and their
renewal, signatures, the endpoint's address and the errors stay botocore's business, whatever its version.
"""

import io
import os
import ssl
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import botocore.session
import urllib3
from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from botocore.httpsession import get_cert_path

from semif.client.sending.call_ids import NO_IDS, CallIds
from semif.client.sending.http_sender import HttpReply
from semif.client.sending.transport import MEDIA_TYPE

if TYPE_CHECKING:
    from mypy_boto3_sagemaker_runtime import SageMakerRuntimeClient

_EVENT = "before-send.sagemaker-runtime.InvokeEndpoint"
_UNSENT = "x-semif-unsent"


@dataclass(frozen=True)
class SignedRequest:
    """What is to be sent, to its byte."""

    url: str
    headers: Mapping[str, str]
    body: bytes


class InvokeEndpoint:
    """InvokeEndpoint of one endpoint without its sending. Used by many threads."""

    def __init__(self, client: "SageMakerRuntimeClient", endpoint: str) -> None:
        self._client = client
        self._endpoint = endpoint
        self._thread = threading.local()
        client.meta.events.register_last(_EVENT, self._in_the_networks_place)  # type: ignore[arg-type]

    def signed(self, body: bytes, ids: CallIds = NO_IDS) -> SignedRequest | bytes:
        """The request to be sent; or the reply, where the client has one without a network (a Stubber).

        It may take a while: credentials are fetched where they have run out. Raises botocore's errors.
        """
        self._thread.reply, self._thread.caught = HttpReply(200, {_UNSENT: "true"}, b""), None
        try:
            answered = self._call(body, ids)
            caught: AWSPreparedRequest | None = self._thread.caught
        finally:
            self._thread.reply = self._thread.caught = None
        if caught is None or _UNSENT not in answered["ResponseMetadata"]["HTTPHeaders"]:
            return bytes(answered["Body"].read())
        headers = {name: _text(value) for name, value in caught.headers.items()}
        return SignedRequest(caught.url, headers, cast(bytes, caught.body))

    def raise_for(self, reply: HttpReply) -> None:
        """Raise the botocore error that `reply` tells."""
        self._thread.reply = reply
        try:
            self._call(b"", NO_IDS)
        finally:
            self._thread.reply = None

    def close(self) -> None:
        """Leave the client as it was."""
        self._client.meta.events.unregister(_EVENT, self._in_the_networks_place)  # type: ignore[arg-type]

    def _call(self, body: bytes, ids: CallIds) -> Any:
        named = {"InferenceId": ids.inference_id, "CustomAttributes": ids.custom_attributes}
        given: Any = {name: value for name, value in named.items() if value is not None}
        return self._client.invoke_endpoint(
            EndpointName=self._endpoint, Body=body, ContentType=MEDIA_TYPE, Accept=MEDIA_TYPE, **given
        )

    def _in_the_networks_place(self, request: AWSPreparedRequest, **_: object) -> AWSResponse | None:
        reply: HttpReply | None = getattr(self._thread, "reply", None)
        if reply is None:  # a call of the client's owner
            return None
        self._thread.caught = request
        raw = urllib3.HTTPResponse(io.BytesIO(reply.body), status=reply.status, preload_content=False)
        return AWSResponse(request.url, reply.status, cast(Any, dict(reply.headers)), raw)


def tls_context(client: "SageMakerRuntimeClient", profile: str | None) -> ssl.SSLContext:
    """TLS as botocore has it: the settings' or the profile's bundle, else its own; the client's certificate.

    A bundle that was given to a client by `verify=` is not seen here: name it in AWS_CA_BUNDLE.
    """
    bundle = botocore.session.Session(profile=profile).get_config_variable("ca_bundle")
    context = ssl.create_default_context(
        cafile=bundle or os.environ.get("REQUESTS_CA_BUNDLE") or get_cert_path(True)
    )
    certificate = client.meta.config.client_cert  # type: ignore[attr-defined]  # the stubs lack it
    if certificate is not None:
        context.load_cert_chain(*((certificate,) if isinstance(certificate, str) else certificate))
    return context


def _text(value: str | bytes) -> str:
    return value if isinstance(value, str) else value.decode("ascii")
