"""Where a request goes: to an endpoint of SageMaker, or to an address. Which one is chosen here, once."""

import os
from typing import TYPE_CHECKING, Protocol

import boto3

from semif.aws.clients import Aws, aws_errors
from semif.client.endpoint_transport import SAGEMAKERS_SECONDS, EndpointTransport, invoke_config
from semif.client.errors import ClosedClientError
from semif.client.url_transport import UrlTransport
from semif.errors import SemifError

if TYPE_CHECKING:
    from mypy_boto3_sagemaker_runtime import SageMakerRuntimeClient

CONNECTIONS = 10
"""Connections that a client keeps open, where it is not told otherwise."""


class Transport(Protocol):
    """Sends bodies, from any thread."""

    def send(self, body: bytes) -> bytes:
        """The reply to `body`. Raises DecisionError."""
        ...

    def close(self) -> None:
        """Let the connections go."""
        ...


class ClientTransport:
    """A client's transport, until it is closed, and in the one process that has asked with it.

    After a fork two processes would write to one connection, and read each other's answers.
    """

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._closed = False
        self._process: int | None = None

    def check_open(self) -> None:
        """Raise ClosedClientError where nothing may be sent any more."""
        if self._closed:
            raise ClosedClientError("this client was closed; make another one, or close it later")
        self._process = self._process or os.getpid()
        if self._process != os.getpid():
            raise ClosedClientError(
                "this client has asked in another process, whose connections it holds; make one in each "
                "process, after the fork"
            )

    def send(self, body: bytes) -> bytes:
        """As `Transport.send`."""
        self.check_open()
        return self._transport.send(body)

    def close(self) -> None:
        """Let the connections go. What was sent is answered, nothing more is sent."""
        self._closed = True
        self._transport.close()


def open_transport(
    endpoint: str | None,
    *,
    url: str | None,
    api_key: str | None,
    region: str | None,
    profile: str | None,
    session: boto3.Session | None,
    sagemaker_runtime: "SageMakerRuntimeClient | None",
    connections: int,
) -> ClientTransport:
    """The way to `endpoint`, or to the adapter at `url`.

    Raises SemifError where not exactly one of them is given, for settings of the other one, and for a
    botocore client that repeats requests itself.
    """
    if (endpoint is None) == (url is None):
        raise SemifError("give the name of an endpoint, or url= of an adapter, and not both")
    if connections < 1:
        raise SemifError(f"connections = {connections}: must be 1 or more")
    aws = {"region": region, "profile": profile, "session": session, "sagemaker_runtime": sagemaker_runtime}
    set_for_aws = [name for name, value in aws.items() if value is not None]
    if url is not None:
        if set_for_aws:
            raise SemifError(
                f"{' and '.join(set_for_aws)} is of AWS, and url= asks an adapter directly; leave it out"
            )
        return ClientTransport(UrlTransport(url, api_key=api_key, connections=connections))
    assert endpoint is not None
    if api_key is not None:
        raise SemifError("api_key is for url=: an endpoint is asked with AWS credentials; leave it out")
    if sagemaker_runtime is not None:
        if len(set_for_aws) > 1:
            raise SemifError(
                f"sagemaker_runtime has its own {' and '.join(set_for_aws[:-1])}; give one of them"
            )
        _check(sagemaker_runtime)
        return ClientTransport(EndpointTransport(sagemaker_runtime, endpoint))
    if session is None:
        session = Aws.from_profile(region=region, profile=profile).session
    elif profile is not None:
        raise SemifError("session has its own profile; give one of them")
    with aws_errors():
        made = session.client("sagemaker-runtime", region_name=region, config=invoke_config(connections))
    return ClientTransport(EndpointTransport(made, endpoint, owned=True))


def _check(client: "SageMakerRuntimeClient") -> None:
    """A client that repeats slow calls by itself would have the container compute each several times."""
    config = client.meta.config
    attempts = (config.retries or {}).get("total_max_attempts")  # type: ignore[attr-defined]  # stubs lack it
    if attempts != 1 or config.read_timeout <= SAGEMAKERS_SECONDS:  # type: ignore[attr-defined]
        raise SemifError(
            f"this sagemaker_runtime repeats requests itself or waits {SAGEMAKERS_SECONDS} s or less; make "
            'it with botocore.config.Config(read_timeout=70, retries={"total_max_attempts": 1})'
        )
