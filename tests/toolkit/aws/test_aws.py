"""AWS clients: explicit limits, and every failure told in one line that says what to do."""

import socket
from pathlib import Path

import boto3
import pytest
from botocore.stub import Stubber

from semif import DecisionClient
from semif.aws.clients import Aws, without_aws
from semif.client.transports.endpoint_transport import EndpointTransport
from semif.errors import SemifError


def local(endpoint_url: str = "http://127.0.0.1:9") -> Aws:
    return Aws(region="us-east-1", endpoint_url=endpoint_url)


def test_an_invocation_outwaits_the_service_and_is_never_sent_twice() -> None:
    config = local().sagemaker_runtime.meta.config
    assert config.read_timeout > 60
    assert config.retries["total_max_attempts"] == 1


@pytest.mark.parametrize("name", ["cloudformation", "codebuild", "logs", "s3", "sagemaker", "sts"])
def test_other_calls_have_short_limits_and_retries(name: str) -> None:
    config = getattr(local(), name).meta.config
    assert config.connect_timeout <= 10
    assert config.read_timeout <= 60
    assert config.retries["total_max_attempts"] > 1


def test_no_credentials(no_access: None) -> None:
    with pytest.raises(SemifError, match=r"^no AWS credentials were found; set AWS_PROFILE"):
        Aws.from_profile(region="eu-central-1").account()


def test_no_region(no_access: None) -> None:
    with pytest.raises(SemifError, match="no AWS region is set"):
        Aws.from_profile(region=None)


def test_a_missing_region_is_asked_for_where_a_program_gives_it(no_access: None) -> None:
    with pytest.raises(SemifError, match="no AWS region is set; give region=, or set AWS_REGION"):
        DecisionClient("demo")
    with pytest.raises(SemifError, match="this session has no region; give region="):
        DecisionClient("demo", session=boto3.Session())


def test_the_region_comes_from_the_file_then_the_variables_then_the_profile(
    no_access: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def region(given: str | None = None) -> str:
        return Aws.from_profile(region=given).region

    (tmp_path / "config").write_text("[default]\nregion = us-west-1\n")
    assert region() == "us-west-1"
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-west-2")
    assert region() == "us-west-2"
    monkeypatch.setenv("AWS_REGION", "eu-west-1")
    assert region() == "eu-west-1"
    assert region("eu-central-1") == "eu-central-1"
    monkeypatch.setenv("AWS_REGION", "")
    assert region() == "us-west-2"


def test_an_unknown_profile(no_access: None) -> None:
    with pytest.raises(SemifError, match="there is no AWS profile nobody"):
        Aws.from_profile(region=None, profile="nobody")


@pytest.mark.parametrize(
    ("code", "line"),
    [
        ("ExpiredToken", "the AWS credentials have expired"),
        ("InvalidClientTokenId", "AWS does not accept the credentials"),
        ("AccessDenied", "the AWS credentials do not allow GetCallerIdentity: no, you may not"),
        ("Throttling", "GetCallerIdentity failed: Throttling: no, you may not"),
    ],
)
def test_what_the_service_says(code: str, line: str) -> None:
    aws = local()
    with Stubber(aws.sts) as stub:
        stub.add_client_error("get_caller_identity", code, "no, you\n may not", http_status_code=403)
        with pytest.raises(SemifError) as caught:
            aws.account()
    assert str(caught.value).startswith(line)
    assert "\n" not in str(caught.value)


def test_nobody_listens() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    ended = "the AWS on this machine has ended"
    with pytest.raises(SemifError, match=rf"^{url}/endpoints/demo/invocations cannot be reached: {ended}"):
        EndpointTransport(local(url).sagemaker_runtime, "demo").send(b"{}")


def test_the_users_own_access_stays_away_from_the_aws_on_this_machine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("AWS_PROFILE", "production")
    monkeypatch.setenv("AWS_SESSION_TOKEN", "secret")
    environment = local().process_environment()
    assert "AWS_PROFILE" not in environment
    assert "AWS_SESSION_TOKEN" not in environment
    assert environment["AWS_ENDPOINT_URL"] == "http://127.0.0.1:9"
    assert (
        local().s3.meta.endpoint_url == "http://127.0.0.1:9"
    )  # made despite the profile that does not exist
    assert without_aws({"AWS_REGION": "x", "PATH": "y"}) == {"PATH": "y"}
