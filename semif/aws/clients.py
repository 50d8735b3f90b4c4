"""The one place where AWS clients are made: explicit timeouts and retries, failures told in one line."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import botocore.exceptions as boto_errors
from botocore.config import Config

from semif.errors import SemifError

if TYPE_CHECKING:
    import boto3
    from mypy_boto3_application_autoscaling import ApplicationAutoScalingClient
    from mypy_boto3_cloudformation import CloudFormationClient
    from mypy_boto3_cloudwatch import CloudWatchClient
    from mypy_boto3_codebuild import CodeBuildClient
    from mypy_boto3_ecr import ECRClient
    from mypy_boto3_iam import IAMClient
    from mypy_boto3_kms import KMSClient
    from mypy_boto3_logs import CloudWatchLogsClient
    from mypy_boto3_pricing import PricingClient
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_sagemaker import SageMakerClient
    from mypy_boto3_sagemaker_runtime import SageMakerRuntimeClient
    from mypy_boto3_service_quotas import ServiceQuotasClient
    from mypy_boto3_ssm import SSMClient
    from mypy_boto3_sts import STSClient

CONTROL = Config(
    connect_timeout=5,
    read_timeout=30,
    retries={"mode": "standard", "total_max_attempts": 4},
    # Stores that speak S3 often refuse the checksums that botocore sends by default.
    request_checksum_calculation="when_required",
    response_checksum_validation="when_required",
)
"""For everything but invocations: control-plane calls answer within seconds and may be repeated."""

INVOKE = Config(connect_timeout=5, read_timeout=70, retries={"total_max_attempts": 1})
"""For InvokeEndpoint, which SageMaker itself ends after 60 s: waiting less would lose answers, and a retry
after a lost answer would make the container compute it twice."""

ONE_TRY = Config(connect_timeout=3, read_timeout=10, retries={"total_max_attempts": 1})
"""For what can be done without: nobody waits long for it."""

_PRICE_LISTS = {"eu": "eu-central-1", "ap": "ap-south-1"}
"""By the beginning of a region's name, the nearest of the price list's regions that is not us-east-1 ("AWS
Price List Query API", Cost Management guide, read 2026-11-30)."""
NO_REGION = "no AWS region is set; put `region` into the environment's file or set AWS_REGION"
LOCAL_AWS_ENDED = (
    "the AWS on this machine has ended, and with it all that was deployed there; run the command that "
    "deploys (`semif deploy ENV --local`, `semif demo`) again"
)
_LOCAL_ACCESS = {
    "AWS_ACCESS_KEY_ID": "local",
    "AWS_SECRET_ACCESS_KEY": "local",
    "AWS_CONFIG_FILE": os.devnull,
    "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
    "AWS_EC2_METADATA_DISABLED": "true",
}
_OF_THE_CDK_ALONE = {"AMAZON_ACCESS_KEY_ID", "AMAZON_SECRET_ACCESS_KEY", "AMAZON_SESSION_TOKEN"}
"""Variables in which the CDK's CLI looks for keys and boto3 does not. And of AWS_DEFAULT_PROFILE and
AWS_PROFILE boto3 takes the first, the CLI the second (botocore's configprovider.py; aws-cdk 2.1148.1,
AwsCliCompatible; read 2026-12-01)."""
_LOGIN = "set AWS_PROFILE, or sign in again (`aws sso login`, `aws configure`)"
_EXPIRED = {"ExpiredToken", "ExpiredTokenException", "RequestExpired", "TokenRefreshRequired"}
_UNKNOWN_KEY = {
    "InvalidClientTokenId",
    "UnrecognizedClientException",
    "InvalidAccessKeyId",
    "SignatureDoesNotMatch",
}
_DENIED = {"AccessDenied", "AccessDeniedException", "UnauthorizedOperation"}


class NoRegionError(SemifError):
    """No region is set anywhere."""

    def __init__(self) -> None:
        super().__init__(NO_REGION)


@dataclass(frozen=True)
class Aws:
    """The AWS clients of one region: of the caller's account, or of the AWS on this machine."""

    region: str
    profile: str | None = None
    endpoint_url: str | None = None
    """Only of the AWS on this machine; AWS itself is found by region."""

    @classmethod
    def from_profile(cls, *, region: str | None, profile: str | None = None) -> "Aws":
        """The caller's own account: in `region`, else that of AWS_REGION, AWS_DEFAULT_REGION or the profile.

        botocore reads AWS_DEFAULT_REGION alone, the other SDKs and the CDK read AWS_REGION. Raises SemifError
        for an unknown profile, NoRegionError where no region is set at all.
        """
        from semif.aws import sessions  # noqa: PLC0415 - see there

        with aws_errors():
            configured = sessions.configured_region(profile)
        chosen = region or os.environ.get("AWS_REGION") or configured
        if not chosen:
            raise NoRegionError
        return cls(region=chosen, profile=profile)

    def process_environment(self) -> dict[str, str]:
        """The environment in which another program (the CDK CLI) reaches the same AWS.

        An explicit profile has to be told it besides, where it prefers keys in the environment.
        """
        region = {"AWS_REGION": self.region, "AWS_DEFAULT_REGION": self.region}
        if self.endpoint_url is None:
            own = {name: value for name, value in os.environ.items() if name not in _OF_THE_CDK_ALONE}
            profile = self.profile or own.get("AWS_DEFAULT_PROFILE")
            return {**own, **region, **({"AWS_PROFILE": profile} if profile else {})}
        return {**without_aws(os.environ), **region, **_LOCAL_ACCESS, "AWS_ENDPOINT_URL": self.endpoint_url}

    @cached_property
    def session(self) -> "boto3.Session":
        """Credentials and region, of which the clients below are made."""
        from semif.aws import sessions  # noqa: PLC0415

        if self.endpoint_url is None:
            with aws_errors():
                return sessions.own_session(self.profile, self.region)
        access = (_LOCAL_ACCESS["AWS_ACCESS_KEY_ID"], _LOCAL_ACCESS["AWS_SECRET_ACCESS_KEY"])
        return sessions.local_session(*access, self.region)

    @cached_property
    def application_autoscaling(self) -> "ApplicationAutoScalingClient":
        """Whether an endpoint's number of instances is scaled."""
        return self.session.client("application-autoscaling", config=CONTROL, endpoint_url=self.endpoint_url)

    @cached_property
    def cloudformation(self) -> "CloudFormationClient":
        """Stacks and their outputs."""
        return self.session.client("cloudformation", config=CONTROL, endpoint_url=self.endpoint_url)

    @cached_property
    def cloudwatch(self) -> "CloudWatchClient":
        """The state of alarms."""
        return self.session.client("cloudwatch", config=CONTROL, endpoint_url=self.endpoint_url)

    @cached_property
    def iam(self) -> "IAMClient":
        """A role that is there already."""
        return self.session.client("iam", config=CONTROL, endpoint_url=self.endpoint_url)

    @cached_property
    def kms(self) -> "KMSClient":
        """The policy of a customer's key."""
        return self.session.client("kms", config=CONTROL, endpoint_url=self.endpoint_url)

    @cached_property
    def codebuild(self) -> "CodeBuildClient":
        """The image build and the model build."""
        return self.session.client("codebuild", config=CONTROL, endpoint_url=self.endpoint_url)

    @cached_property
    def logs(self) -> "CloudWatchLogsClient":
        """What the builds and the containers print."""
        return self.session.client("logs", config=CONTROL, endpoint_url=self.endpoint_url)

    @cached_property
    def pricing(self) -> "PricingClient":
        """The price list, which has endpoints in three regions for all."""
        nearest = _PRICE_LISTS.get(self.region.partition("-")[0], "us-east-1")
        return self.session.client("pricing", nearest, config=ONE_TRY, endpoint_url=self.endpoint_url)

    @cached_property
    def s3(self) -> "S3Client":
        """Sources and model archives."""
        return self.session.client("s3", config=CONTROL, endpoint_url=self.endpoint_url)

    @cached_property
    def sagemaker(self) -> "SageMakerClient":
        """The endpoint's state."""
        return self.session.client("sagemaker", config=CONTROL, endpoint_url=self.endpoint_url)

    @cached_property
    def sagemaker_runtime(self) -> "SageMakerRuntimeClient":
        """InvokeEndpoint."""
        return self.session.client("sagemaker-runtime", config=INVOKE, endpoint_url=self.endpoint_url)

    @cached_property
    def ecr(self) -> "ECRClient":
        """Credentials of private registries."""
        return self.session.client("ecr", config=CONTROL, endpoint_url=self.endpoint_url)

    @cached_property
    def ssm(self) -> "SSMClient":
        """The parameter in which the CDK's bootstrap leaves its version."""
        return self.session.client("ssm", config=CONTROL, endpoint_url=self.endpoint_url)

    @cached_property
    def service_quotas(self) -> "ServiceQuotasClient":
        """How many instances of a type the account may have."""
        return self.session.client("service-quotas", config=CONTROL, endpoint_url=self.endpoint_url)

    @cached_property
    def sts(self) -> "STSClient":
        """Who is calling."""
        return self.session.client("sts", config=CONTROL, endpoint_url=self.endpoint_url)

    def account(self) -> str:
        """The account number of the caller; raises SemifError where the credentials do not work."""
        with aws_errors():
            return self.sts.get_caller_identity()["Account"]


@contextmanager
def aws_errors() -> Iterator[None]:
    """Turn every failure of botocore into a SemifError of one line that says what to do."""
    try:
        yield
    except _failures() as error:
        raise SemifError(describe(error)) from error


def _failures() -> tuple[type[Exception], ...]:
    from semif.aws import sessions  # noqa: PLC0415

    return boto_errors.BotoCoreError, boto_errors.ClientError, sessions.TRANSFER_FAILURE


def describe(error: Exception) -> str:
    """One line for a botocore exception: what is wrong, and what to change where that is known."""
    match error:
        case boto_errors.ClientError():
            line = _describe_client_error(error)
        case boto_errors.NoCredentialsError() | boto_errors.PartialCredentialsError():
            line = f"no AWS credentials were found; {_LOGIN}"
        case boto_errors.ProfileNotFound(kwargs=details):
            line = f"there is no AWS profile {details['profile']}; `aws configure list-profiles` shows yours"
        case boto_errors.NoRegionError():
            line = NO_REGION
        case (
            boto_errors.SSOError()
            | boto_errors.TokenRetrievalError()
            | boto_errors.CredentialRetrievalError()
        ):
            line = f"the AWS sign-in has expired or cannot be read; {_LOGIN}"
        case boto_errors.HTTPClientError(kwargs=details) | boto_errors.ConnectionError(kwargs=details):
            url = str(details.get("endpoint_url") or "AWS")  # None: while a body is read
            if _is_timeout(error):
                line = f"{url} took too long to answer; check the network, the proxy and the region"
            elif url.startswith("http://127.0.0.1:"):
                line = f"{url} cannot be reached: {LOCAL_AWS_ENDED}"
            else:
                line = f"{url} cannot be reached; check the network, the proxy and the region"
        case _:
            line = f"the AWS call failed: {_one_line(str(error))}"
    return line


def is_denied(error: boto_errors.ClientError) -> bool:
    """Whether AWS answers that the caller has no permission."""
    return error.response.get("Error", {}).get("Code") in _DENIED


def is_unknown_caller(error: boto_errors.ClientError) -> bool:
    """Whether AWS answers that the credentials have expired or that it does not know them."""
    return error.response.get("Error", {}).get("Code") in _EXPIRED | _UNKNOWN_KEY


def without_aws(environ: Mapping[str, str]) -> dict[str, str]:
    """`environ` without the user's AWS settings, so that no credentials reach the AWS on this machine."""
    return {name: value for name, value in environ.items() if not name.startswith("AWS_")}


def _is_timeout(error: Exception) -> bool:
    return isinstance(error, boto_errors.ReadTimeoutError | boto_errors.ConnectTimeoutError)


def _describe_client_error(error: boto_errors.ClientError) -> str:
    code = error.response.get("Error", {}).get("Code", "unknown")
    message = _one_line(error.response.get("Error", {}).get("Message") or "no message")
    if code in _EXPIRED:
        return f"the AWS credentials have expired ({error.operation_name}: {code}); {_LOGIN}"
    if code in _UNKNOWN_KEY:
        return f"AWS does not accept the credentials ({error.operation_name}: {code}); {_LOGIN}"
    if is_denied(error):
        return f"the AWS credentials do not allow {error.operation_name}: {message}"
    return f"{error.operation_name} failed: {code}: {message}"


def _one_line(text: str) -> str:
    return " ".join(text.split())
