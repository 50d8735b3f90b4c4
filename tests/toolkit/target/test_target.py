"""Which AWS and which lock a command works with, and what it refuses before anything is touched."""

import json
import shutil
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from rich.console import Console

from semif.aws.clients import Aws
from semif.cli import main
from semif.cli.deployment_steps import deploy_chain
from semif.cli.steps import Steps
from semif.environment.environment import load_environment
from semif.errors import SemifError
from semif.lock.lock_file import lock_path
from semif.project.root import PROJECT_VARIABLE, project_root
from semif.target import local_server
from semif.target.target import Target, open_target

EXAMPLE_LOCK = Path(__file__).parents[2] / "infra" / "locks" / "demo.json"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project of its own, with the environments and presets of this one, and nothing deployed."""
    for folder in ("environments", "models"):
        shutil.copytree(project_root() / folder, tmp_path / folder)
    monkeypatch.setenv(PROJECT_VARIABLE, str(tmp_path))
    return tmp_path


def target(account: str = "111122223333", region: str = "eu-central-1") -> Target:
    """The demo environment in an account that nobody is asked about."""
    aws = Aws(region=region, endpoint_url="http://127.0.0.1:9")
    environment = load_environment("demo")
    return Target(project_root(), environment, aws, account, lock_path("demo"), local=False, poll_seconds=0)


def write_lock(**changed: object) -> None:
    """Put the example lock into the place of demo's own; None removes a key."""
    content = {**json.loads(EXAMPLE_LOCK.read_bytes()), **changed}
    kept = {key: value for key, value in content.items() if value is not None}
    lock_path("demo").write_text(json.dumps(kept, sort_keys=True, indent=2) + "\n")


def test_a_missing_lock_says_which_command_writes_it(project: Path) -> None:
    with pytest.raises(
        SemifError, match=r"demo\.lock\.json is missing; run `semif build demo`, which writes it"
    ):
        target().read_lock()


def test_an_example_lock_is_never_deployed_nor_overwritten(project: Path) -> None:
    write_lock()
    before = lock_path("demo").read_bytes()
    with pytest.raises(SemifError, match="is an example for synth checks"):
        target().read_lock()
    with pytest.raises(SemifError, match="is an example for synth checks"):
        deploy_chain(Steps(Console(stderr=True)), target())
    assert lock_path("demo").read_bytes() == before


def test_a_base_image_that_nobody_pinned_is_told_before_anything_is_deployed(project: Path) -> None:
    (project / "adapter_image").mkdir()
    shutil.copy(EXAMPLE_LOCK.parents[3] / "adapter_image" / "dlc.toml", project / "adapter_image")
    file = project / "environments" / "demo.toml"
    file.write_text(file.read_text().replace("ml.c6i.large", "ml.c7g.large"))
    with pytest.raises(SemifError, match=r"dlc\.toml pins no digest for graviton"):
        deploy_chain(Steps(Console(stderr=True)), target())


def test_a_broken_lock_is_told_when_it_is_read_and_keeps_no_build_from_writing_it_anew(project: Path) -> None:
    write_lock(example=None)
    lock_path("demo").write_text("<<<<<<< HEAD\n" + lock_path("demo").read_text())
    target().refuse_example()
    with pytest.raises(SemifError, match=r"marks of a merge conflict; .* run `semif build demo`"):
        target().read_lock()


def test_a_lock_belongs_to_its_account_and_region(project: Path) -> None:
    write_lock(example=None)
    place = json.loads(EXAMPLE_LOCK.read_bytes())
    own = target(place["account"], place["region"])
    assert own.read_lock().account == place["account"]
    for other in (target("123456789012", place["region"]), target(place["account"], "us-west-2")):
        with pytest.raises(SemifError, match=f"is of account {place['account']} in {place['region']}"):
            other.read_lock()


def test_an_environment_of_an_account_is_deployed_nowhere_else(project: Path) -> None:
    file = project / "environments" / "demo.toml"
    file.write_text(file.read_text().replace("kind =", 'account = "111122223333"\nkind =', 1))
    with pytest.raises(SemifError, match=r"demo\.toml says account 111122223333, this is 000000000000"):
        open_target("demo", on_this_machine=True)


def test_on_this_machine_there_are_no_profiles(project: Path) -> None:
    with pytest.raises(SemifError, match="--profile opens an AWS account and --local needs none"):
        open_target("demo", on_this_machine=True, profile="production")


@pytest.mark.parametrize(
    "arguments", ["demo", "deploy demo --local", "build demo --local", "destroy demo --local"]
)
def test_commands_that_change_this_machine_do_not_meet(project: Path, arguments: str) -> None:
    with local_server.sole_command(project):
        result = CliRunner().invoke(main, arguments.split())
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith("semif: another semif command is at work on the AWS of this machine")
    assert result.stderr.count("\n") == 1
    assert not (project / local_server.FOLDER).exists()


@pytest.mark.parametrize("command", ["status", "diff", "build"])
def test_where_nothing_runs_the_command_says_what_to_run(project: Path, command: str) -> None:
    result = CliRunner().invoke(main, [command, "demo", "--local"])
    assert result.exit_code == 1
    assert result.stderr == (
        "semif: nothing of demo is deployed on this machine; run `semif deploy demo --local`\n"
    )
    assert not (project / local_server.FOLDER).exists()


def test_a_text_environment_decides_nothing() -> None:
    result = CliRunner().invoke(main, ["decide", "text", "no-such-file.json"])
    assert result.exit_code == 1
    assert result.stderr.startswith("semif: text is of kind 'text': it answers in words; use `semif ask text")
    assert result.stderr.count("\n") == 1


def test_every_command_explains_itself() -> None:
    for name in main.list_commands(None):  # type: ignore[arg-type]  # the list needs no context
        result = CliRunner().invoke(main, [name, "--help"])
        assert result.exit_code == 0
        command = main.get_command(None, name)  # type: ignore[arg-type]  # nor does this
        if isinstance(command, click.Group):
            for verb in command.commands:
                assert CliRunner().invoke(main, [name, verb, "--help"]).exit_code == 0
        elif name != "demo":
            assert f"semif {name} " in result.output.split("Example")[1]
