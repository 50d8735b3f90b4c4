"""`[existing]`, `[budget]`, an endpoint's name and its end: what goes together, what is said otherwise."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from importlib.metadata import distribution
from pathlib import Path

import pytest

from semif.aws.budget_regions import BUDGET_REGIONS, budget_region_problem
from semif.aws.expiry import TIME_PATTERN, expiry_after, read_expiry
from semif.environment.environment import Environment
from semif.environment.explained import resolved
from semif.errors import ProblemsError
from semif.verify import forms

EnvironmentOf = Callable[..., Environment]
HEAD = 'kind = "decision"\nremoval = "destroy"\naccount = "111122223333"\nregion = "eu-central-1"\n'
GOOD = f'{HEAD}[model]\npreset = "embedded"\n[endpoint]\ninstance_type = "ml.c6i.large"\n'
ASYNC = f'{GOOD}mode = "async"\n'
SLOW = "model_download_timeout_seconds = 3600\nstartup_timeout_seconds = 3600\n"
TOPIC = 'topic_arn = "arn:aws:sns:eu-central-1:111122223333:t"\n'
ROLE = "arn:aws:iam::111122223333:role/hosting"


def test_names_and_ends_are_shown_with_the_environment(environment_of: EnvironmentOf) -> None:
    environment = environment_of(
        f'{GOOD}endpoint_name = "decisions"\nexpires_after_hours = 8\n[existing]\nrole_arn = "{ROLE}"\n'
    )
    view = resolved(environment)
    assert view["endpoint_name"] == "decisions"
    shown = {entry["key"]: entry["value"] for entry in view["settings"]}
    assert shown["endpoint.expires_after_hours"] == 8
    assert shown["existing.role_arn"] == ROLE
    assert environment.settings.endpoint_name == "decisions"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (f'{GOOD}endpoint_name = "Decisions"', "must be lower-case letters, digits and hyphens"),
        (f"{GOOD}expires_after_hours = 0", "endpoint.expires_after_hours"),
        (f"{GOOD}{SLOW}expires_after_hours = 2", "the start alone may take"),
        (f'bootstrap_qualifier = "My-Team"\n{GOOD}', "what `cdk bootstrap --qualifier` was given"),
        (f'{GOOD}[existing]\nbucket = "Mine"', "existing.bucket"),
        (f'{GOOD}[existing]\nrole_arn = "{ROLE.replace("1111", "9999")}"', "is not of account 111122223333"),
        (f'{GOOD}[existing]\nrole_arn = "{ROLE.replace("aws", "aws-cn")}"', "is not of the partition aws"),
        (f"expires_after_hours = 8\n{GOOD}", "is not a known key here, it belongs in [endpoint]"),
        (f'{GOOD}permissions_boundary = "x"', "it belongs at the top of the file, above all tables"),
        (f"{GOOD}initial_instance_cout = 2", "known key, did you mean initial_instance_count?"),
        (f"{GOOD}[tag]", "tag is not a known key, did you mean [tags]?"),
        (f"{GOOD}[existng]", "existng is not a known key, did you mean [existing]?"),
        (f"{GOOD}[extra]", "extra is not a known key, remove it or check its spelling"),
        (f"{GOOD}port = 80", "endpoint.port is not a known key, remove it or check its spelling"),
        (f'{GOOD}[existing]\nfiles_bucket = "ours"', "existing.files_bucket is for asynchronous or batch"),
        (f'{ASYNC}[async]\nexpiry_days = 3\n[existing]\nfiles_bucket = "ours"', "async.expiry_days does not"),
        (f"{GOOD}[budget]\nmonthly_usd = 5", "there is no [alarms]; add the table"),
        (f"{GOOD}[alarms]\n[budget]\nmonthly_usd = 0", "budget.monthly_usd"),
        (
            f"{GOOD.replace('eu-central-1', 'eu-north-1')}[alarms]\n[budget]\nmonthly_usd = 5",
            "CloudFormation makes none in US dollars in eu-north-1",
        ),
        (
            f'{GOOD}[alarms]\n{TOPIC.replace("1111", "9999")}[budget]\nmonthly_usd = 5',
            "the topic of [alarms] is of account 999922223333",
        ),
        (f'{GOOD}mode = "batch"\nendpoint_name = "x"', "there is no endpoint to name"),
        (f'{GOOD}mode = "batch"\nexpires_after_hours = 9', "there is no endpoint to delete"),
        (f'{GOOD}mode = "batch"\n[budget]\nmonthly_usd = 9', "[budget] does not go with endpoint.mode"),
    ],
)  # fmt: skip
def test_what_does_not_go_together(environment_of: EnvironmentOf, text: str, problem: str) -> None:
    with pytest.raises(ProblemsError) as caught:
        environment_of(text)
    (told,) = caught.value.problems
    assert problem in told


def test_a_given_topic_of_a_budget_is_warned_of(environment_of: EnvironmentOf) -> None:
    for given in ("", TOPIC):
        environment = environment_of(f"{GOOD}[alarms]\n{given}[budget]\nmonthly_usd = 5")
        told = [line for line in environment.warnings if "must let budgets.amazonaws.com publish" in line]
        assert len(told) == bool(given)


def test_the_regions_of_budgets_are_those_of_cloudformations_registries() -> None:
    folder = Path(str(distribution("cfn-lint").locate_file("cfnlint/data/schemas/providers")))
    found = {
        path.stem
        for path in folder.glob("*.json")
        if "AWS::Budgets::Budget" in path.read_text()
        and not re.match("cn-|us-iso|us-gov|eusc-|eu-iso", path.stem)
    }
    assert found == BUDGET_REGIONS
    assert budget_region_problem("us-east-1") is None


def test_an_end_is_a_full_minute_that_is_not_too_early() -> None:
    now = datetime(2026, 11, 30, 23, 59, 1, tzinfo=UTC)
    text = expiry_after(24, now)
    assert text == "2026-12-02T00:00:00"
    assert re.fullmatch(TIME_PATTERN, text)
    assert read_expiry(text) - now - timedelta(hours=24) < timedelta(minutes=1)
    full = now.replace(second=0, microsecond=0)
    assert read_expiry(expiry_after(1, full)) == full + timedelta(hours=1)
    assert read_expiry(expiry_after(1, full.replace(microsecond=1))) == full + timedelta(hours=1, minutes=1)


def test_a_verification_takes_no_name_and_no_bucket_of_what_it_proves() -> None:
    tables = {
        "kind": "decision",
        "model": {"preset": "embedded"},
        "endpoint": {"instance_type": "ml.c6i.large", "endpoint_name": "taken", "expires_after_hours": 1},
        "existing": {"role_arn": ROLE, "bucket": "ours"},
        "budget": {"monthly_usd": 3},
    }
    for form in (forms.realtime, forms.queue, forms.jobs):
        made = form(tables)
        assert not {"endpoint_name", "expires_after_hours"} & made["endpoint"].keys()
        assert made["existing"] == {"role_arn": ROLE}
        assert "budget" not in made
    assert tables["existing"] == {"role_arn": ROLE, "bucket": "ours"}
