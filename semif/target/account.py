"""What an account must have before anything is deployed into it: the CDK's bootstrap and the instances.

Nothing here changes anything. What cannot be looked up, for want of a permission or of a way to the service,
is a warning and no problem: a deployment may well be allowed what its check is not.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from botocore.exceptions import BotoCoreError, ClientError

from semif.aws.budget_regions import budget_region_problem
from semif.aws.clients import Aws, describe, is_denied
from semif.aws.stacks import bootstrap_options
from semif.environment.environment import Environment
from semif.errors import SemifError
from semif.images.regional_images import reaches_public_registry
from semif.rights.place import bootstrap_parameter
from semif.target.endpoint_state import find_endpoint
from semif.target.existing import existing_problems
from semif.target.key_policy import key_policy_warnings
from semif.target.published_image import published_image_problems
from semif.target.quotas import check_quotas
from semif.target.rollback_alarms import rollback_alarm_warnings

BOOTSTRAP_VERSION = 6
"""What aws-cdk-lib's DefaultStackSynthesizer asks for (`requiresBootstrapStackVersion` in cdk.out)."""

_PERMISSIONS = {
    "BatchGetImage": "ecr:BatchGetImage",
    "DescribeAlarms": "cloudwatch:DescribeAlarms",
    "GetBucketEncryption": "s3:GetEncryptionConfiguration",
    "GetBucketVersioning": "s3:GetBucketVersioning",
    "GetKeyPolicy": "kms:GetKeyPolicy",
    "GetParameter": "ssm:GetParameter",
    "GetRole": "iam:GetRole",
    "HeadBucket": "s3:ListBucket",
    "ListServiceQuotas": "servicequotas:ListServiceQuotas",
    "ListAWSDefaultServiceQuotas": "servicequotas:ListAWSDefaultServiceQuotas",
}


@dataclass
class AccountCheck:
    """What was found: `problems` make a deployment fail, `warnings` may.

    `update_problems` make it fail where it moves an endpoint that is there; one that changes nothing goes on.
    """

    region: str
    account: str | None = None
    """None where the credentials do not work."""
    problems: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    update_problems: list[str] = field(default_factory=list)


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
    if environment.region is None:  # else the file's own checks have told
        check.warnings.extend(environment.region_warnings(aws.region))
        mirrored = environment.builds is not None and environment.builds.base_repository is not None
        if environment.serving_kind.runs_adapter and not mirrored and not reaches_public_registry(aws.region):
            check.problems.append(
                f"{aws.region} cannot log in to public.ecr.aws, where the base of our image is elsewhere; "
                f'write region = "{aws.region}" into environments/{environment.name}.toml: then the base is '
                "taken from the registry of that region"
            )
        no_budget = budget_region_problem(aws.region)
        if environment.budget is not None and no_budget is not None:
            check.problems.append(no_budget)
    _look("the CDK's bootstrap", check, lambda: _check_bootstrap(aws, environment, check))
    for what, problems in existing_problems(aws, environment):
        _look(what, check, partial(check.problems.extend, problems))
    _look("the quotas of the instance types", check, lambda: _check_quotas(aws, environment, check))
    _look("the published image", check, lambda: _check_published_image(aws, environment, check))
    keys = partial(key_policy_warnings, aws, environment)
    _look("the policy of the key", check, lambda: check.warnings.extend(keys()))
    alarms = partial(rollback_alarm_warnings, aws, environment)
    _look("the alarms that an update goes back on", check, lambda: check.warnings.extend(alarms()))
    return check


def _check_published_image(aws: Aws, environment: Environment, check: AccountCheck) -> None:
    check.problems.extend(published_image_problems(aws, environment))


def _check_quotas(aws: Aws, environment: Environment, check: AccountCheck) -> None:
    has_endpoint = environment.inference_mode.has_endpoint
    running = find_endpoint(aws, environment.endpoint_name) if has_endpoint else None
    found = check_quotas(aws, environment, running)
    check.problems.extend(found.problems)
    check.warnings.extend(found.warnings)
    if running is not None and running.unknown is not None:
        check.warnings.append(running.unknown)
    if running is None:
        check.warnings.extend(f"later: {line}" for line in found.update_problems)
    else:
        check.update_problems.extend(found.update_problems)


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
    except SemifError as error:
        check.warnings.append(f"{what}: not checked, {error}")


def _check_bootstrap(aws: Aws, environment: Environment, check: AccountCheck) -> None:
    place, qualifier = f"aws://{check.account}/{aws.region}", environment.bootstrap_qualifier
    command = " ".join(["cdk bootstrap", *bootstrap_options(qualifier), place])
    parameter = bootstrap_parameter(environment)
    try:
        version = aws.ssm.get_parameter(Name=parameter)["Parameter"].get("Value", "")
    except ClientError as error:
        if error.response.get("Error", {}).get("Code") != "ParameterNotFound":
            raise
        check.problems.append(
            f"{place} is not bootstrapped for the CDK (no {parameter}); run `{command}` once (see "
            "https://docs.aws.amazon.com/cdk/v2/guide/bootstrapping.html)"
        )
        return
    if not version.isdecimal() or int(version) < BOOTSTRAP_VERSION:
        check.problems.append(
            f"the CDK's bootstrap of {place} has version {version[:20]!r}, needed is {BOOTSTRAP_VERSION} or "
            f"later; run `{command}` again"
        )
