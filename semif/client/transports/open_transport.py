"""Where a request goes: to an endpoint of SageMaker, or to an address. Which one is chosen here, once."""

from typing import TYPE_CHECKING

from semif.client.retry import checked_count
from semif.client.sending.transport import Transport
from semif.client.transports.url_transport import UrlTransport
from semif.errors import SemifError

if TYPE_CHECKING:
    import boto3
    from mypy_boto3_sagemaker_runtime import SageMakerRuntimeClient

CONNECTIONS = 10
"""Requests that a client has out at once, and connections that it keeps, where it is not told otherwise."""


def open_transport(
    endpoint: str | None,
    *,
    url: str | None,
    api_key: str | None,
    region: str | None,
    profile: str | None,
    session: "boto3.Session | None",
    sagemaker_runtime: "SageMakerRuntimeClient | None",
    connections: int,
) -> Transport:
    """The way to `endpoint`, or to the adapter at `url`.

    Raises SemifError where not exactly one of them is given, for settings of the other one, and for a
    botocore client that repeats requests itself.
    """
    if (endpoint is None) == (url is None):
        raise SemifError("give the name of an endpoint, or url= of an adapter, and not both")
    checked_count("connections", connections)
    aws = {"region": region, "profile": profile, "session": session, "sagemaker_runtime": sagemaker_runtime}
    set_for_aws = [name for name, value in aws.items() if value is not None]
    if url is not None:
        if set_for_aws:
            raise SemifError(
                f"{' and '.join(set_for_aws)} is of AWS, and url= asks an adapter directly; leave it out"
            )
        return UrlTransport(url, api_key=api_key, connections=connections)
    assert endpoint is not None
    if api_key is not None:
        raise SemifError("api_key is for url=: an endpoint is asked with AWS credentials; leave it out")
    return _to_endpoint(
        endpoint,
        region=region,
        profile=profile,
        session=session,
        sagemaker_runtime=sagemaker_runtime,
        connections=connections,
    )


def _to_endpoint(
    endpoint: str,
    *,
    region: str | None,
    profile: str | None,
    session: "boto3.Session | None",
    sagemaker_runtime: "SageMakerRuntimeClient | None",
    connections: int,
) -> Transport:
    # boto3 takes longer to load than all else together: who asks an adapter by its address does without.
    from semif.aws.clients import Aws, NoRegionError, aws_errors  # noqa: PLC0415
    from semif.client.transports.endpoint_transport import EndpointTransport, check_client, invoke_config  # noqa: PLC0415

    if sagemaker_runtime is not None:
        named = {"region": region, "profile": profile, "session": session}
        if taken := [name for name, value in named.items() if value is not None]:
            raise SemifError(f"sagemaker_runtime has its own {' and '.join(taken)}; give one of them")
        check_client(sagemaker_runtime)
        return EndpointTransport(sagemaker_runtime, endpoint, connections=connections)
    if session is None:
        try:
            session = Aws.from_profile(region=region, profile=profile).session
        except NoRegionError:
            raise SemifError("no AWS region is set; give region=, or set AWS_REGION") from None
    elif profile is not None:
        raise SemifError("session has its own profile; give one of them")
    elif region is None and session.region_name is None:
        raise SemifError("this session has no region; give region=, or a session that has one")
    with aws_errors():
        made = session.client("sagemaker-runtime", region_name=region, config=invoke_config(connections))
    return EndpointTransport(made, endpoint, owned=True, profile=_named(session.profile_name))


def _named(profile: str) -> str | None:
    """boto3 calls the profile of no name `default`, which botocore would then look for."""
    return None if profile == "default" else profile
