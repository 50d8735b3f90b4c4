"""What a lock pins, in SageMaker's Model Registry (moto), and deployed only where it is approved there."""

import json
import shutil
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from semif.aws.clients import Aws
from semif.cli import main
from semif.deployment.registry import register, require_approval
from semif.deployment.stages import deploy_endpoint
from semif.environment.environment import load_environment
from semif.errors import ProblemsError, SemifError
from semif.lock.lock_file import Lock, lock_path, write_lock
from semif.project.root import PROJECT_VARIABLE, project_root
from semif.target.target import Target
from tests.infra.example_locks import LOCKS

ACCOUNT, REGION = "123456789012", "us-east-1"  # moto's
NUMBERS = count()


def lock_for(name: str, **image: str) -> Lock:
    """The example lock of an environment, as if it were of moto's account."""
    text = (LOCKS / f"{name}.json").read_text()
    content: dict[str, Any] = json.loads(
        text.replace("111122223333", ACCOUNT).replace("eu-central-1", REGION)
    )
    del content["example"]
    return Lock.model_validate({**content, "image": content["image"] | image})


@pytest.fixture
def target(account: Aws, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Target:
    """The demo environment with a `[registry]` of its own group, in a project of its own."""
    for folder in ("environments", "models", "adapter_image"):
        shutil.copytree(
            project_root() / folder, tmp_path / folder, ignore=shutil.ignore_patterns("semif_adapter")
        )
    monkeypatch.setenv(PROJECT_VARIABLE, str(tmp_path))
    file = tmp_path / "environments" / "demo.toml"
    file.write_text(
        f'{file.read_text()}\n[registry]\ngroup = "decisions-{next(NUMBERS)}"\nrequire_approval = true\n'
    )
    path = lock_path("demo")
    write_lock(path, lock_for("demo"))
    return Target(tmp_path, load_environment("demo"), account, ACCOUNT, path, local=False, poll_seconds=0)


def decide(target: Target, arn: str, status: Any) -> None:
    target.aws.sagemaker.update_model_package(ModelPackageArn=arn, ModelApprovalStatus=status)


def test_a_package_says_image_model_hashes_and_prompt_and_waits_for_a_person(target: Target) -> None:
    done, lock = register(target), target.read_lock()

    assert (done.created, done.package.status) == (True, "PendingManualApproval")
    package = target.aws.sagemaker.describe_model_package(ModelPackageName=done.package.arn)
    assert package["ModelApprovalStatus"] == "PendingManualApproval"
    (container,) = package["InferenceSpecification"]["Containers"]
    assert (container["Image"], container["ModelDataUrl"]) == (lock.image_uri, lock.model.address)
    metadata = package["CustomerMetadataProperties"]
    assert metadata["semif:manifest-sha256"] in lock.model.address
    assert metadata["semif:prompt-version"] == "chat-text-schema-first-2 chat-text-state-first-2"
    assert metadata.keys() == {
        "semif:environment",
        "semif:built-in",
        "semif:image-source-sha256",
        "semif:preset",
        "semif:manifest-sha256",
        "semif:archive-sha256",
        "semif:prompt-version",
    }


def test_what_is_registered_is_found_by_what_it_pins_and_not_registered_twice(target: Target) -> None:
    first = register(target)
    again = register(target)
    write_lock(target.lock_path, lock_for("demo", source_sha256="a" * 64))
    same_pins = register(target)
    uri = target.read_lock().image_uri.partition("@")[0] + "@sha256:" + "b" * 64
    write_lock(target.lock_path, lock_for("demo", uri=uri))
    other = register(target)

    assert (again.created, again.package) == (False, first.package)
    assert (same_pins.created, same_pins.package) == (False, first.package)
    assert other.created
    assert other.package.arn == f"{first.package.arn[:-1]}2"


def test_nothing_is_deployed_that_nobody_approved(target: Target) -> None:
    def deploy() -> None:
        deploy_endpoint(target, lambda _: None)

    with pytest.raises(SemifError, match=r"are not registered in .*; run `semif model register demo`"):
        deploy()
    arn = register(target).package.arn
    with pytest.raises(
        SemifError, match=f"{arn} is PendingManualApproval; have it approved, and deploy again"
    ):
        deploy()
    decide(target, arn, "Rejected")
    with pytest.raises(SemifError, match="is Rejected"):
        deploy()


def test_an_approval_is_of_these_pins_alone(target: Target) -> None:
    arn = register(target).package.arn
    decide(target, arn, "Approved")
    lock = target.read_lock()
    require_approval(target, lock)

    uri = lock.image_uri.partition("@")[0] + "@sha256:" + "c" * 64
    with pytest.raises(SemifError, match="are not registered"):
        require_approval(target, lock_for("demo", uri=uri))
    require_approval(replace(target, local=True), lock_for("demo", uri=uri))


def test_files_under_a_prefix_are_told_as_such_and_found_again(target: Target) -> None:
    environment = load_environment("demo-text").model_copy(update={"registry": target.environment.registry})
    path = lock_path("demo-text")
    write_lock(path, lock_for("demo-text"))
    text = replace(target, environment=environment, lock_path=path)

    done = register(text)

    package = target.aws.sagemaker.describe_model_package(ModelPackageName=done.package.arn)
    (container,) = package["InferenceSpecification"]["Containers"]
    assert container["ModelDataSource"]["S3DataSource"] == {
        "S3Uri": text.read_lock().model.address,
        "S3DataType": "S3Prefix",
        "CompressionType": "None",
    }
    assert "semif:prompt-version" not in package["CustomerMetadataProperties"]
    assert not register(text).created


def test_the_command_tells_the_package_and_how_it_is_approved(target: Target) -> None:
    told = CliRunner().invoke(main, ["model", "register", "demo"], env={"AWS_REGION": REGION})
    assert told.exit_code == 0, told.output
    arn = told.stdout.split(": ")[0]
    assert f"{arn}: PendingManualApproval" in told.stdout
    assert f"update-model-package --model-package-arn {arn} --model-approval-status Approved" in told.stdout
    decide(target, arn, "Approved")
    again = CliRunner().invoke(main, ["model", "register", "demo", "--json"], env={"AWS_REGION": REGION})
    assert json.loads(again.stdout) == {"arn": arn, "status": "Approved", "created": False}


def test_an_environment_without_a_registry_is_told_so(target: Target) -> None:
    bare = replace(target, environment=target.environment.model_copy(update={"registry": None}))
    with pytest.raises(SemifError, match=r'demo has no \[registry\]; add it with group = "NAME"'):
        register(bare)
    require_approval(bare, bare.read_lock())


def test_a_model_that_the_container_downloads_can_have_none(target: Target) -> None:
    path = target.root / "environments" / "hub.toml"
    path.write_text(
        'kind = "text"\nremoval = "destroy"\n[model]\nhf_repo = "a/b"\nhf_file = "c.gguf"\n'
        f'revision = "{"0" * 40}"\n[endpoint]\ninstance_type = "ml.c6i.xlarge"\ninitial_instance_count = 1\n'
        'network_isolation = false\nstartup_timeout_seconds = 900\n[registry]\ngroup = "g"\n'
    )
    with pytest.raises(ProblemsError, match="registry: a package holds image and model"):
        load_environment("hub")
