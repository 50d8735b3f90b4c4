"""What an account must have before anything is deployed into it: the CDK's bootstrap and the instances.

Nothing here changes anything. What cannot be looked up, for want of a permission or of a way to the service,
is a warning and no problem: a deployment may well be allowed what its check is not.
"""

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from botocore.exceptions import BotoCoreError, ClientError

from semif.aws.clients import Aws, describe, is_denied
from semif.environment.environment import Environment
from semif.errors import SemifError
from semif.target.key_policy import key_policy_warnings
from semif.target.rollback_alarms import rollback_alarm_warnings

if TYPE_CHECKING:
    from mypy_boto3_service_quotas.type_defs import ServiceQuotaTypeDef

BOOTSTRAP_PARAMETER = "/cdk-bootstrap/hnb659fds/version"
"""Where `cdk bootstrap` leaves its version; `hnb659fds` is the CDK's default qualifier."""
BOOTSTRAP_VERSION = 6
"""What aws-cdk-lib's DefaultStackSynthesizer asks for (`requiresBootstrapStackVersion` in cdk.out)."""

_SERVICE = "sagemaker"
_PERMISSIONS = {
    "DescribeAlarms": "cloudwatch:DescribeAlarms",
    "GetKeyPolicy": "kms:GetKeyPolicy",
    "GetParameter": "ssm:GetParameter",
    "ListServiceQuotas": "servicequotas:ListServiceQuotas",
    "ListAWSDefaultServiceQuotas": "servicequotas:ListAWSDefaultServiceQuotas",
}


@dataclass
class AccountCheck:
    """What was found: `problems` make a deployment fail, `warnings` may."""

    region: str
    account: str | None = None
    """None where the credentials do not work."""
    problems: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class _Quota:
    code: str
    """`L-` and eight digits and letters."""
    value: int


def check_account(aws: Aws, environment: Environment) -> AccountCheck:
    """All that is wrong with deploying `environment` with the credentials of `aws`, in its region.

    Where the credentials do not work, or are of another account than the file's, that is the only problem:
    the rest would be told of the wrong account.
    """
    check = AccountCheck(aws.region)
    try:
        check.account = aws.account()
    except SemifError as error:
        check.problems.append(str(error))
        return check
    if problem := account_problem(environment, check.account):
        check.problems.append(problem)
        return check
    _look("the CDK's bootstrap", check, lambda: _check_bootstrap(aws, check))
    _look("the quotas of the instance types", check, lambda: _check_quotas(aws, environment, check))
    keys = partial(key_policy_warnings, aws, environment)
    _look("the policy of the key", check, lambda: check.warnings.extend(keys()))
    alarms = partial(rollback_alarm_warnings, aws, environment)
    _look("the alarms that an update goes back on", check, lambda: check.warnings.extend(alarms()))
    return check


def account_problem(environment: Environment, account: str) -> str | None:
    """A line where the environment names another account than `account`."""
    if environment.account in {None, account}:
        return None
    return (
        f"environments/{environment.name}.toml says account {environment.account}, this is {account}; "
        "use that account's credentials, or correct the file"
    )


def _look(what: str, check: AccountCheck, look: Callable[[], None]) -> None:
    try:
        look()
    except ClientError as error:
        permission = _PERMISSIONS.get(error.operation_name, error.operation_name)
        reason = f"the credentials do not allow {permission}" if is_denied(error) else describe(error)
        check.warnings.append(f"{what}: not checked, {reason}")
    except BotoCoreError as error:
        check.warnings.append(f"{what}: not checked, {describe(error)}")


def _check_bootstrap(aws: Aws, check: AccountCheck) -> None:
    place = f"aws://{check.account}/{aws.region}"
    try:
        version = aws.ssm.get_parameter(Name=BOOTSTRAP_PARAMETER)["Parameter"].get("Value", "")
    except ClientError as error:
        if error.response.get("Error", {}).get("Code") != "ParameterNotFound":
            raise
        check.problems.append(
            f"{place} is not bootstrapped for the CDK; run `cdk bootstrap {place}` once (see "
            "https://docs.aws.amazon.com/cdk/v2/guide/bootstrapping.html)"
        )
        return
    if not version.isdecimal() or int(version) < BOOTSTRAP_VERSION:
        check.problems.append(
            f"the CDK's bootstrap of {place} has version {version[:20]!r}, needed is {BOOTSTRAP_VERSION} or "
            f"later; run `cdk bootstrap {place}` again"
        )


def _check_quotas(aws: Aws, environment: Environment, check: AccountCheck) -> None:
    types, count = environment.endpoint.instance_types, environment.endpoint.initial_instance_count
    names = {instance_type: _quota_name(environment, instance_type) for instance_type in types}
    quotas = _find_quotas(aws, list(names.values()))
    unknown = [instance_type for instance_type, name in names.items() if name not in quotas]
    check.warnings.extend(
        f'{aws.region} tells no quota "{names[instance_type]}"; see that the region has {instance_type}'
        for instance_type in unknown
    )
    too_small = [
        f"{aws.region} allows {quota.value} instances of {instance_type}, needed are {count}: the quota "
        f'"{name}" ({quota.code}); raise it with `aws service-quotas request-service-quota-increase --region '
        f"{aws.region} --service-code {_SERVICE} --quota-code {quota.code} --desired-value {count}`"
        for instance_type, name in names.items()
        if (quota := quotas.get(name)) and quota.value < count
    ]
    # An endpoint with a pool is heterogeneous: its types may make up the number together.
    together = sum(quota.value for quota in quotas.values())
    if not unknown and count <= together < environment.max_instance_count:
        check.warnings.append(
            f"{aws.region} allows {together} instances of {', '.join(types)} together, scaling may ask for "
            f"{environment.max_instance_count}; raise the quotas, or lower scaling.max_instance_count"
        )
    if unknown or together >= count:
        # SageMaker documents the fallback to the next type for want of capacity, not of quota.
        check.warnings.extend(f"{line}, or take the type out of the pool" for line in too_small)
    else:
        check.problems.extend(too_small)


def _quota_name(environment: Environment, instance_type: str) -> str:
    """The name under which Service Quotas lists how many instances of a type all endpoints, or jobs, have."""
    return f"{instance_type} for {environment.inference_mode.quota} usage"


def _find_quotas(aws: Aws, names: Collection[str]) -> dict[str, _Quota]:
    """The quotas of these names: the account's own, else AWS's default. Service Quotas does not list the
    former for every quota."""
    quotas: dict[str, _Quota] = {}
    for pages in (_own_quotas(aws), _default_quotas(aws)):
        for page in pages:
            for name, quota in page.items():
                if name in names:
                    quotas.setdefault(name, quota)
            if len(quotas) == len(names):
                return quotas
    return quotas


def _own_quotas(aws: Aws) -> Iterator[dict[str, _Quota]]:
    for page in aws.service_quotas.get_paginator("list_service_quotas").paginate(ServiceCode=_SERVICE):
        yield _by_name(page["Quotas"])


def _default_quotas(aws: Aws) -> Iterator[dict[str, _Quota]]:
    paginator = aws.service_quotas.get_paginator("list_aws_default_service_quotas")
    for page in paginator.paginate(ServiceCode=_SERVICE):
        yield _by_name(page["Quotas"])


def _by_name(quotas: "Iterable[ServiceQuotaTypeDef]") -> dict[str, _Quota]:
    return {
        quota["QuotaName"]: _Quota(quota["QuotaCode"], int(quota["Value"]))
        for quota in quotas
        if "QuotaName" in quota and "Value" in quota
    }
