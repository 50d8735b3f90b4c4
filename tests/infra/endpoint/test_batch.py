"""Environments of mode batch: what they deploy, and what they refuse with the reason."""

from collections.abc import Callable
from typing import Any

import pytest

from semif.environment.environment import Environment
from semif.environment.explained import resolved
from semif.errors import ProblemsError
from semif.sagemaker.transform_rules import DEADLINE_SECONDS, invocation_seconds
from semif_adapter.contract.settings import Settings
from tests.infra.matrix import KEY_ARN

GOOD = """
kind = "decision"
removal = "destroy"
[model]
preset = "embedded"
[endpoint]
mode = "batch"
instance_type = "ml.c6i.large"
"""
Templates = dict[str, Any]


def of_type(template: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    return [item.get("Properties", {}) for item in template["Resources"].values() if item["Type"] == kind]


@pytest.fixture(params=["demo-batch", "batch", "batch-cuda"])
def stacks(request: pytest.FixtureRequest) -> Templates:
    name = request.param
    fixture = "templates" if name.startswith("demo") else "matrix"
    found: Templates = request.getfixturevalue(fixture)[name]
    return found


def statements(template: dict[str, Any]) -> list[dict[str, Any]]:
    policies = of_type(template, "AWS::IAM::Policy")
    return [statement for policy in policies for statement in policy["PolicyDocument"]["Statement"]]


def test_there_is_a_model_and_a_bucket_and_no_endpoint(stacks: Templates) -> None:
    template = stacks["Endpoint"]
    kinds = {item["Type"] for item in template["Resources"].values()}
    assert kinds <= {
        "AWS::CDK::Metadata",
        "AWS::IAM::Policy",
        "AWS::IAM::Role",
        "AWS::S3::Bucket",
        "AWS::S3::BucketPolicy",
        "AWS::SageMaker::Model",
    }
    (model,) = of_type(template, "AWS::SageMaker::Model")
    assert model["EnableNetworkIsolation"] is True
    assert model["PrimaryContainer"]["ModelDataUrl"].endswith("/model.tar.gz")
    assert "ModelDataSource" not in model["PrimaryContainer"]
    assert set(template["Outputs"]) >= {"BucketName", "ModelName"}
    names = [str(group.get("LogGroupName")) for group in of_type(stacks["Artifacts"], "AWS::Logs::LogGroup")]
    assert not any("sagemaker" in name for name in names)


def test_the_bucket_forgets(stacks: Templates) -> None:
    (bucket,) = of_type(stacks["Endpoint"], "AWS::S3::Bucket")
    assert "VersioningConfiguration" not in bucket
    (rule,) = bucket["LifecycleConfiguration"]["Rules"]
    assert (rule["ExpirationInDays"], rule["Status"]) == (30, "Enabled")
    assert set(bucket["PublicAccessBlockConfiguration"].values()) == {True}


def test_the_role_reads_lines_writes_answers_and_the_log_of_transform_jobs(stacks: Templates) -> None:
    told = statements(stacks["Endpoint"])
    by_action = {
        action: statement
        for statement in told
        for action in ([statement["Action"]] if isinstance(statement["Action"], str) else statement["Action"])
        if not (action == "s3:GetObject" and "model.tar.gz" in str(statement["Resource"]))
    }
    assert str(by_action["s3:GetObject"]["Resource"]).endswith("'/lines/*']]}")
    assert str(by_action["s3:PutObject"]["Resource"]).endswith("'/answers/*']]}")
    assert by_action["s3:ListBucket"]["Condition"] == {"StringLike": {"s3:prefix": ["lines/*"]}}
    assert "/aws/sagemaker/TransformJobs" in str(by_action["logs:PutLogEvents"]["Resource"])
    assert "/aws/sagemaker/Endpoints" not in str(told)
    assert not {action for action in by_action if action.startswith("sns:") or "*" in action}


def test_with_a_key_it_may_grant_its_use_to_the_volumes_alone(matrix: dict[str, Templates]) -> None:
    granting = [s for s in statements(matrix["batch-cuda"]["Endpoint"]) if s["Action"] == "kms:CreateGrant"]
    (statement,) = granting
    assert statement["Resource"] == KEY_ARN
    assert statement["Condition"] == {"Bool": {"kms:GrantIsForAWSResource": "true"}}
    (bucket,) = of_type(matrix["batch-cuda"]["Endpoint"], "AWS::S3::Bucket")
    assert KEY_ARN in str(bucket["BucketEncryption"])


def test_lines_get_all_the_time_there_is_unless_the_file_says_less(
    environment_of: Callable[..., Environment],
) -> None:
    environment = environment_of(GOOD)
    assert environment.settings.deadline_seconds == DEADLINE_SECONDS
    assert environment.settings.max_queued_tokens == 16_777_216
    assert invocation_seconds(environment.settings.deadline_seconds) == 3600
    less = environment_of(GOOD + "[adapter]\ndeadline_seconds = 120\nmax_queued_tokens = 5000\n")
    assert (less.settings.deadline_seconds, less.settings.max_queued_tokens) == (120, 5000)
    assert invocation_seconds(120) > 120
    assert Settings.from_env(less.container_variables).deadline_seconds == 120
    assert not less.warnings
    kept = environment_of(f"log_retention_days = 7\n{GOOD}")
    assert any("/aws/sagemaker/TransformJobs" in warning for warning in kept.warnings)


def test_a_gpu_is_warned_of_its_driver(environment_of: Callable[..., Environment]) -> None:
    environment = environment_of(GOOD.replace("c6i.large", "g6.xlarge"))
    assert environment.settings.gpu_layers == -1
    assert any("driver 535" in warning for warning in environment.warnings)


def test_what_it_comes_to_is_shown_as_jobs_have_it(environment_of: Callable[..., Environment]) -> None:
    settings = resolved(environment_of(GOOD + "[adapter]\nmax_queued_tokens = 5000\n"))["settings"]
    told = {entry["key"]: (entry["value"], entry["source"]) for entry in settings}
    assert told["adapter.deadline_seconds"] == (DEADLINE_SECONDS, "as transform jobs have it")
    assert told["adapter.max_queued_tokens"] == (5000, "from the file")
    assert told["endpoint.mode"] == ("batch", "from the file")
    assert not {key for key in told if "timeout" in key or "volume" in key}


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        (
            '"decision"',
            '"text"',
            "does not go with kind = 'text': a line that the published container refuses",
        ),
        (
            'preset = "embedded"',
            'preset = "embedded"\nformat = "prefix"',
            "refuses a Model with a ModelDataSource",
        ),
        (
            'instance_type = "ml.c6i.large"',
            "",
            "endpoint.instance_type is missing; a transform job takes one type",
        ),
        (
            'instance_type = "ml.c6i.large"',
            'instance_pool = ["ml.c6i.large"]',
            "a transform job takes one type",
        ),
        ("c6i.large", "c7g.large", "Batch Transform does not offer it, take one of the families c4, "),
        ("c6i.large", "c6i.huge", "'ml.c6i.huge' is not known"),
        ("", "initial_instance_count = 101", "a transform job has at most 100"),
        ("", "startup_timeout_seconds = 600", "endpoint.startup_timeout_seconds does not go with"),
        ("", "volume_size_gb = 30", "Batch Transform sizes the volumes itself"),
        ("", "[scaling]\nmax_instance_count = 3", "[scaling] does not go with endpoint.mode = 'batch'"),
        ("", '[deployment]\nstrategy = "canary"', "[deployment] does not go with"),
        ("", "[alarms]", "[alarms] does not go with"),
        ("", "[async]", "[async] does not go with"),
        ("", "[adapter]\ndeadline_seconds = 3600", "allowed are up to 3540"),
        ("", "[adapter]\nbatch = true", "adapter.batch is not a known key: the deployment fixes it"),
    ],
)
def test_what_does_not_go_with_it_is_refused_with_the_reason(
    environment_of: Callable[..., Environment], old: str, new: str, problem: str
) -> None:
    text = GOOD.replace(old, new) if old else GOOD + new
    with pytest.raises(ProblemsError) as caught:
        environment_of(text)
    assert problem in str(caught.value)


def test_all_that_is_wrong_is_said_at_once(environment_of: Callable[..., Environment]) -> None:
    text = GOOD.replace("c6i", "c7g") + "volume_size_gb = 3\n[alarms]\n[scaling]\nmax_instance_count = 2\n"
    with pytest.raises(ProblemsError) as caught:
        environment_of(text)
    assert len(caught.value.problems) == 4
