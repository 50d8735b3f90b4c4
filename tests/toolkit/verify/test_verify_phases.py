"""The list of steps: all rows of docs/measured/verification.md that name AWS are there, all forms right."""

import re
from collections import Counter
from pathlib import Path

import pytest

from semif.environment.environment import environment_names, load_environment
from semif.errors import SemifError
from semif.project.root import PROJECT_VARIABLE
from semif.sagemaker.instances import instance_type
from semif.verify.phases import ELSEWHERE, PHASES
from semif.verify.plan import make_plan
from semif.verify.step import PREFIX
from tests.support.checkout import REPOSITORY

PAGE = REPOSITORY / "docs" / "measured" / "verification.md"
ROWS = [line.removeprefix("| ") for line in PAGE.read_text().splitlines() if line.startswith("| ")][1:]
OF_AWS = re.compile(
    r"\b(AWS|SageMaker|CloudWatch|CloudFormation|CodeBuild|ECR|S3|Batch Transform|moto|synth|on a GPU)\b"
)
STEPS = list(dict.fromkeys(step for phases in PHASES.values() for phase in phases for step in phase.steps))
NAMES = [name for name in environment_names() if not name.startswith(PREFIX)]
PROVED = [name for name in NAMES if load_environment(name).endpoint.mode == "realtime"]
PRICED = [
    name
    for name in PROVED
    if all(instance_type(one).usd_per_hour for one in load_environment(name).endpoint.instance_types)
]


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The checkout's environments, but for what a verification of somebody's has made there."""
    (tmp_path / "models").symlink_to(REPOSITORY / "models")
    (tmp_path / "environments").mkdir()
    for name in NAMES:
        (tmp_path / "environments" / f"{name}.toml").symlink_to(REPOSITORY / "environments" / f"{name}.toml")
    monkeypatch.setenv(PROJECT_VARIABLE, str(tmp_path))


def test_every_row_that_names_aws_has_a_step_or_a_reason() -> None:
    beginnings = [*(row for step in STEPS for row in step.rows), *ELSEWHERE]
    without = [row for row in ROWS if OF_AWS.search(row) and not row.startswith(tuple(beginnings))]
    assert without == []


def test_what_a_step_moves_is_one_row() -> None:
    beginnings = {row for step in STEPS for row in step.rows} | set(ELSEWHERE)
    found = Counter({beginning: sum(row.startswith(beginning) for row in ROWS) for beginning in beginnings})
    assert {beginning: count for beginning, count in found.items() if count != 1} == {}
    assert not set(ELSEWHERE) & {row for step in STEPS for row in step.rows}


def test_every_step_names_a_page_of_aws_and_why_it_is_not_shown_here() -> None:
    for step in STEPS:
        assert step.source.startswith("https://docs.aws.amazon.com/sagemaker/"), step.name
        assert step.faithful_locally == (step.not_local is None)


@pytest.mark.parametrize("name", PRICED)
def test_every_form_of_a_realtime_environment_can_be_deployed(name: str) -> None:
    plan = make_plan(name, local=False, profile=None, tolerance=0.02)
    assert 0 < plan.usd < 100
    plan.check(max_usd=plan.usd + 0.01, max_minutes=plan.minutes + 1)
    with pytest.raises(SemifError, match="--max-cost is"):
        plan.check(max_usd=plan.usd / 2, max_minutes=plan.minutes + 1)
    with pytest.raises(SemifError, match="--max-minutes is"):
        plan.check(max_usd=plan.usd + 0.01, max_minutes=plan.minutes / 2)
    told = " ".join(plan.lines(max_usd=40, max_minutes=600))
    assert f"${plan.usd:,.2f} of instances" in told
    assert "before 600 minutes or, at that price, $40.00" in told


@pytest.mark.parametrize("name", sorted(set(NAMES) - set(PROVED)))
def test_an_environment_of_another_mode_is_refused(name: str) -> None:
    with pytest.raises(SemifError, match="verify a realtime environment"):
        make_plan(name, local=True, profile=None, tolerance=0.02)


def test_without_a_price_no_ceiling_could_be_kept() -> None:
    assert "demo-pool" not in PRICED
    assert make_plan("demo-pool", local=True, profile=None, tolerance=0.02).usd == 0
    with pytest.raises(SemifError, match=r"no price of ml\.c7i\.large, ml\.m6i\.large is known"):
        make_plan("demo-pool", local=False, profile=None, tolerance=0.02)
