"""A walk through steps, in an account of moto's: surprises, ceilings, interrupts, and what is left."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest
from click.testing import CliRunner

from semif.aws.clients import Aws
from semif.cli import main
from semif.environment.environment import load_environment
from semif.errors import SemifError
from semif.project.root import PROJECT_VARIABLE
from semif.rights.place import Place
from semif.rights.policies import policy
from semif.rights.right import Task
from semif.verify.meter import Meter
from semif.verify.plan import Plan, make_plan
from semif.verify.report import write_report
from semif.verify.step import Bench, Phase, Step, SurpriseError
from semif.verify.walk import Walk
from tests.support.checkout import REPOSITORY
from tests.support.servers.policy_guard import enforce

EMPTY_STACK = json.dumps({"Resources": {"Topic": {"Type": "AWS::SNS::Topic"}}})


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, account: Aws) -> Path:
    """A project with the demo's environment, and credentials of moto's account."""
    (tmp_path / "models").symlink_to(REPOSITORY / "models")
    (tmp_path / "environments").mkdir()
    text = (REPOSITORY / "environments" / "demo.toml").read_text()
    (tmp_path / "environments" / "demo.toml").write_text(text)
    monkeypatch.setenv(PROJECT_VARIABLE, str(tmp_path))
    monkeypatch.setenv("AWS_REGION", account.region)
    return tmp_path


def step(name: str, run: Callable[[Bench], str] = lambda _: "as expected", *, row: str = "a row") -> Step:
    return Step(name, "it works", "https://docs.aws.amazon.com/", run, rows=(row,), minutes=1)


def failing(error: BaseException) -> Callable[[Bench], str]:
    def run(_: Bench) -> str:
        raise error

    return run


@contextmanager
def showing(_: str) -> Iterator[Callable[[str], None]]:
    yield lambda _: None


def walk_of(*phases: tuple[Step, ...], max_seconds: float = 600.0, max_usd: float = 10.0) -> Walk:
    planned = make_plan("demo", local=False, profile=None, tolerance=0.02)
    forms = tuple(Phase(dict, steps) for steps in phases)
    plan = Plan(planned.environment, planned.bench, forms, (), planned.usd_per_hour)
    meter = Meter(usd_per_hour=3600.0, max_usd=max_usd, max_seconds=max_seconds, reserve_seconds=0)
    return Walk(plan, meter, showing)


def told(walk: Walk) -> list[tuple[str, str]]:
    return [(outcome.step.name, outcome.status) for outcome in walk.outcomes]


def left_in(project: Path) -> list[str]:
    return sorted(path.name for path in (project / "environments").iterdir())


def test_all_as_expected_leaves_nothing(project: Path) -> None:
    walk = walk_of((step("deploy"), step("ask")), max_usd=1e9)
    walk.go()
    assert told(walk) == [("deploy", "seen"), ("ask", "seen")]
    assert (walk.exit_status, walk.left, left_in(project)) == (0, [], ["demo.toml"])


@pytest.mark.parametrize("error", [SurpriseError("not so"), SemifError("no such thing")])
def test_a_surprise_does_not_keep_the_next_steps_back(project: Path, error: SemifError) -> None:
    walk = walk_of((step("deploy"), step("ask", failing(error)), step("logs")), max_usd=1e9)
    walk.go()
    assert told(walk) == [("deploy", "seen"), ("ask", "surprise"), ("logs", "seen")]
    assert str(error) in walk.outcomes[1].detail
    assert (walk.exit_status, left_in(project)) == (1, ["demo.toml"])


def test_without_its_deployment_a_phase_is_passed_over_and_the_next_is_walked(project: Path) -> None:
    walk = walk_of(
        (step("deploy", failing(SemifError("no quota"))), step("ask")),
        (step("deploy a queue"), step("submit")),
        max_usd=1e9,
    )
    walk.go()
    assert told(walk) == [
        ("deploy", "surprise"),
        ("ask", "not run"),
        ("deploy a queue", "seen"),
        ("submit", "seen"),
    ]
    assert left_in(project) == ["demo.toml"]


def for_ever(_: Bench) -> str:
    threading.Event().wait(300)
    return "it was not stopped"


@pytest.mark.parametrize(
    ("ceiling", "named"), [({"max_seconds": 1.0}, "minutes"), ({"max_usd": 1.0}, "$1.00")]
)
def test_a_ceiling_stops_the_step_that_runs_and_the_clean_up_comes(
    project: Path, ceiling: dict[str, float], named: str
) -> None:
    walk = walk_of((step("deploy", for_ever), step("ask")), **{"max_usd": 1e9, **ceiling})
    walk.go()
    assert told(walk) == [("deploy", "not run"), ("ask", "not run")]
    assert walk.ended_by is not None
    assert named in walk.ended_by
    assert (walk.exit_status, walk.left, left_in(project)) == (1, [], ["demo.toml"])


@pytest.mark.parametrize("end", [KeyboardInterrupt(), SystemExit(143)])
def test_an_interrupt_goes_on_after_the_clean_up(project: Path, end: BaseException) -> None:
    walk = walk_of((step("deploy", failing(end)), step("ask")), max_usd=1e9)
    with pytest.raises(type(end)):
        walk.go()
    assert (walk.left, left_in(project)) == ([], ["demo.toml"])
    assert [status for _, status in told(walk)] == ["not run", "not run"]


def rights_of(account: Aws, monkeypatch: pytest.MonkeyPatch, *tasks: Task) -> None:
    """Have whoever asks CloudFormation hold what `semif iam verify-demo` prints for `tasks`, and no more."""
    environment = load_environment("demo").model_copy(update={"name": "verify-demo"})
    caller, asking = account.account(), Aws(region=account.region)
    place = Place(environment, caller, account.region)
    enforce(asking, caller, *(policy(place, task) for task in tasks))
    monkeypatch.setattr(Aws, "from_profile", lambda **_: asking)


def test_the_rights_of_deploy_and_verify_are_all_that_it_takes(
    project: Path, account: Aws, monkeypatch: pytest.MonkeyPatch
) -> None:
    rights_of(account, monkeypatch, "deploy", "verify")
    names = ("Semif-verify-demo-Artifacts", "Semif-verify-demo-Endpoint")
    for name in names:
        account.cloudformation.create_stack(StackName=name, TemplateBody=EMPTY_STACK)
    refused = CliRunner().invoke(main, ["verify", "demo", "--yes", "--max-cost", "100", "--output", "out"])
    assert refused.exit_code == 1
    assert f"{', '.join(names)} is there already, of a verification that runs" in refused.stderr
    walk = walk_of((step("deploy"),), max_usd=1e9)
    walk.go()
    assert (walk.exit_status, walk.left, left_in(project)) == (0, [], ["demo.toml"])
    assert account.cloudformation.describe_stacks()["Stacks"] == []


def test_what_cannot_be_taken_away_is_told_and_the_file_that_deletes_it_stays(
    project: Path, account: Aws, monkeypatch: pytest.MonkeyPatch
) -> None:
    rights_of(account, monkeypatch, "diff", "verify")
    name = "Semif-verify-demo-Endpoint"
    account.cloudformation.create_stack(StackName=name, TemplateBody=EMPTY_STACK)
    walk = walk_of((step("deploy"),), max_usd=1e9)
    walk.go()
    account.cloudformation.delete_stack(StackName=name)
    assert walk.exit_status == 2
    assert walk.left[0] == f"the stack {name}"
    assert "the AWS credentials do not allow DeleteStack" in walk.left[1]
    assert "run `semif destroy verify-demo`" in walk.left[-1]
    assert left_in(project) == ["demo.toml", "verify-demo.toml"]
    with pytest.raises(SemifError, match="from a verification that was cut off"):
        make_plan("demo", local=False, profile=None, tolerance=0.02)


def test_the_stacks_of_the_environment_are_deleted_and_another_ones_are_not(
    project: Path, account: Aws
) -> None:
    own, other = "Semif-verify-demo-Endpoint", ["Semif-demo-Endpoint", "Semif-verify-demo-pool-Endpoint"]
    for name in (own, *other):
        account.cloudformation.create_stack(StackName=name, TemplateBody=EMPTY_STACK)
    walk = walk_of((step("deploy"),), max_usd=1e9)
    walk.go()
    stacks = [stack["StackName"] for stack in account.cloudformation.describe_stacks()["Stacks"]]
    for name in other:
        account.cloudformation.delete_stack(StackName=name)
    assert (walk.exit_status, stacks) == (0, other)


def test_the_report_is_dated_holds_no_account_and_moves_rows_whose_steps_were_all_seen(
    project: Path, tmp_path: Path
) -> None:
    arn = "arn:aws:sagemaker:us-east-1:123456789012:endpoint/semif-verify-demo"
    walk = walk_of(
        (
            step("deploy", lambda _: f"{arn} | is there", row="moves"),
            step("ask", failing(SurpriseError(arn)), row="stays"),
            step("logs", row="stays"),
        ),
        max_usd=1e9,
    )
    walk.go()
    now = datetime(2026, 11, 30, 9, 5, tzinfo=UTC)
    page, data = write_report(tmp_path / "out", walk, now=now, region="us-east-1")
    assert (page.name, data.name) == ("verify-demo-2026-11-30-0905.md", "verify-demo-2026-11-30-0905.json")
    assert "123456789012" not in page.read_text() + data.read_text()
    document = json.loads(data.read_text())
    assert document["rows"] == {"moves": "AWS, 2026-11-30, us-east-1", "stays": "stays: ask, surprise"}
    assert [entry["status"] for entry in document["steps"]] == ["seen", "surprise", "seen"]
    assert "endpoint/semif-verify-demo \\| is there" in page.read_text()
