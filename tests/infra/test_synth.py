"""Synthesis as a whole: the real CDK CLI, what it refuses, what a change changes, what the linter says."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import constructs
import pytest
from aws_cdk import App, Stack, Token
from aws_cdk import aws_s3 as s3

from cdk_app.app import build, compose
from semif.environment.environment import Environment, environment_names, load_environment
from semif.environment.tables.endpoint import NetworkTable
from semif.errors import SemifError
from semif.images.base_images import base_image
from semif.images.image_ref import ImageRef
from semif.lock.lock_file import Lock

Templates = dict[str, Any]
Synth = Callable[[Environment, Lock | None], Templates]
ExampleLock = Callable[[Environment], Lock]
HASH = "c" * 64
CPU_BASE = str(base_image("cpu"))


@pytest.fixture
def bare(tmp_path: Path) -> dict[str, str]:
    """An environment of variables with no AWS, no usable home and no way to any network through a proxy."""
    home = tmp_path / "home"
    home.mkdir()
    closed = "http://127.0.0.1:9"
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "HTTP_PROXY": closed,
        "HTTPS_PROXY": closed,
        # jsii unpacks the CDK under the home, which takes half a minute; what it unpacked before will do.
        "JSII_RUNTIME_PACKAGE_CACHE_ROOT": str(Path.home() / ".cache" / "aws" / "jsii" / "package-cache"),
        # The CDK's own look at the templates takes four CPU seconds; `templates` have had it.
        "CDK_VALIDATION": "false",
    }


@pytest.mark.parametrize("name", ["prod", "text"])
def test_the_cdk_cli_needs_no_account_and_no_network(
    root: Path, tmp_path: Path, bare: dict[str, str], templates: dict[str, Templates], name: str
) -> None:
    lock = root / "tests" / "infra" / "locks" / f"{name}.json"
    done = subprocess.run(
        ["cdk", "synth", "--quiet", "--output", tmp_path / "out", "-c", f"env={name}", "-c", f"lock={lock}"],
        cwd=root,
        env=bare,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    for stack in ("Artifacts", "Endpoint"):  # another process, another order of hashes
        template = json.loads((tmp_path / "out" / f"Semif-{name}-{stack}.template.json").read_text())
        for resource in template["Resources"].values():
            resource.pop("Metadata", None)  # its path in the tree of constructs, which only the CLI asks for
        assert template == templates[name][stack]
    assert not (root / "cdk.context.json").exists()
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert not manifest.get("missing")


def test_a_problem_ends_the_app_with_one_message(root: Path, tmp_path: Path, bare: dict[str, str]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "cdk_app.app"],
        cwd=root,
        env={
            **bare,
            "CDK_CONTEXT_JSON": '{"env": "dev", "lock": "/nowhere/dev.lock.json"}',
            "CDK_OUTDIR": str(tmp_path / "cdk.out"),
        },
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 1
    assert "semif: there is no lock /nowhere/dev.lock.json; run `semif build dev`" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("contexts", "problem"),
    [
        ({}, "the context env is missing; add -c env=NAME, known are demo, demo-"),
        ({"env": "nowhere"}, "there is no environment 'nowhere', known are demo, demo-"),
        ({"env": "dev", "stage": "endpoint"}, "the context stage is 'endpoint', allowed are artifacts, all"),
        ({"env": "dev", "lock": "nowhere.json"}, "there is no lock nowhere.json"),
    ],
)
def test_contexts_that_are_refused(tmp_path: Path, contexts: dict[str, str], problem: str) -> None:
    with pytest.raises(SemifError) as caught:
        compose(App(context=contexts, outdir=str(tmp_path)))
    assert problem in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("semif-dev-example@sha256:", "semif-dev-example:latest@sha256:", "has a tag beside its digest"),
        ('"manifest_sha256": "', '"manifest_sha256": "0', "model.manifest_sha256"),
        ('"preset": "qwen3.5-4b"', '"preset": "qwen3.5-2b"', "model.preset is 'qwen3.5-2b'"),
        (
            CPU_BASE,
            CPU_BASE[:-1] + ("0" if CPU_BASE[-1] != "0" else "1"),
            "image.base is 'public.ecr.aws/deep",
        ),
        ("111122223333.dkr", "444455556666.dkr", "image.uri is in '444455556666.dkr.ecr"),
    ],
)
def test_locks_that_are_refused(root: Path, tmp_path: Path, old: str, new: str, problem: str) -> None:
    text = (root / "tests" / "infra" / "locks" / "dev.json").read_text()
    assert old in text
    path = tmp_path / "dev.lock.json"
    path.write_text(text.replace(old, new))
    with pytest.raises(SemifError) as caught:
        compose(App(context={"env": "dev", "lock": str(path)}, outdir=str(tmp_path / "cdk.out")))
    assert problem in str(caught.value)


def test_the_first_stage_needs_no_lock(tmp_path: Path) -> None:
    app = App(context={"env": "dev", "stage": "artifacts", "lock": "nowhere.json"}, outdir=str(tmp_path))
    compose(app)
    assert [stack.node.id for stack in app.node.children if stack.node.id.startswith("Semif")] == [
        "Semif-dev-Artifacts"
    ]


def test_what_needs_no_lock_is_for_the_account_that_is_asked_for(tmp_path: Path) -> None:
    """The CDK then refuses the credentials of another, wherever it finds them."""

    def account(**asked: str) -> str:
        context = {"env": "dev", "stage": "artifacts", **asked}
        app = App(context=context, outdir=str(tmp_path / "-".join(context)))
        compose(app)
        stack = app.node.find_child("Semif-dev-Artifacts")
        assert isinstance(stack, Stack)
        return stack.account

    assert Token.is_unresolved(account())
    assert account(account="111122223333") == "111122223333"


def test_a_finding_of_cdk_nag_stops_the_synthesis(tmp_path: Path) -> None:
    app = App(analytics_reporting=False, outdir=str(tmp_path))
    build((load_environment("demo"), None), app=app)
    s3.Bucket(app.node.find_child("Semif-demo-Artifacts"), "Open")
    with pytest.raises(RuntimeError, match="AwsSolutions-S1"):
        app.synth()


def test_no_stack_imports_from_another(templates: dict[str, Templates]) -> None:
    text = json.dumps(templates)
    for word in ("Fn::ImportValue", "ExportsOutput", '"Export"'):
        assert word not in text


def test_the_same_inputs_give_the_same_templates(
    synth: Synth, example_lock: ExampleLock, templates: dict[str, Templates]
) -> None:
    for name in environment_names():
        environment = load_environment(name)
        assert synth(environment, example_lock(environment)) == templates[name]


def with_endpoint(environment: Environment, **changes: Any) -> Environment:
    return environment.model_copy(update={"endpoint": environment.endpoint.model_copy(update=changes)})


def with_adapter(environment: Environment, **changes: Any) -> Environment:
    return environment.model_copy(update={"adapter": environment.adapter.model_copy(update=changes)})


def with_image(lock: Lock) -> Lock:
    image = ImageRef(lock.image.uri.repository, f"sha256:{HASH}")
    return lock.model_copy(update={"image": lock.image.model_copy(update={"uri": image})})


def with_model(lock: Lock) -> Lock:
    changes = {"manifest_sha256": HASH, "s3_uri": f"s3://{lock.model.bucket}/models/{HASH}/model.tar.gz"}
    return lock.model_copy(update={"model": lock.model.model_copy(update=changes)})


MODEL, CONFIG, POLICY = "AWS::SageMaker::Model", "AWS::SageMaker::EndpointConfig", "AWS::IAM::Policy"
NETWORK = NetworkTable(
    s3_prefix_list_id="pl-6ea54007",
    vpc_id="vpc-0123456789abcdef0",
    subnet_ids=["subnet-0123456789abcdef0", "subnet-0123456789abcdef1"],
)


@pytest.mark.parametrize(
    ("change", "lock_change", "kinds"),
    [
        (lambda e: e, with_image, {MODEL}),
        (lambda e: e, with_model, {MODEL, POLICY}),
        (lambda e: with_adapter(e, streams=8), lambda lock: lock, {MODEL}),
        (lambda e: with_endpoint(e, instance_type="ml.c6i.4xlarge"), lambda lock: lock, {CONFIG}),
        (lambda e: with_endpoint(e, initial_instance_count=2), lambda lock: lock, {CONFIG}),
        (lambda e: with_endpoint(e, startup_timeout_seconds=900), lambda lock: lock, {CONFIG}),
        (lambda e: with_endpoint(e, volume_size_gb=40), lambda lock: lock, {CONFIG}),
        (
            lambda e: e.model_copy(update={"network": NETWORK}),
            lambda lock: lock,
            {MODEL, POLICY, "AWS::EC2::SecurityGroup"},
        ),
        (lambda e: e.model_copy(update={"tags": {"team": "x"}}), lambda lock: lock, set()),
    ],
    ids=["image", "model", "setting", "type", "count", "timeout", "volume", "network", "tags"],
)
def test_what_one_changed_input_changes(
    synth: Synth,
    example_lock: ExampleLock,
    templates: dict[str, Templates],
    change: Callable[[Environment], Environment],
    lock_change: Callable[[Lock], Lock],
    kinds: set[str],
) -> None:
    """CloudFormation replaces a Model or EndpointConfig whose properties changed: neither has a name."""
    dev = load_environment("dev")
    before = templates["dev"]
    after = synth(change(dev), lock_change(example_lock(dev)))
    assert after["Artifacts"] == before["Artifacts"]
    old, new = before["Endpoint"]["Resources"], after["Endpoint"]["Resources"]
    changed = {
        (old.get(key) or new[key])["Type"] for key in old.keys() | new.keys() if old.get(key) != new.get(key)
    }
    assert changed == kinds
    endpoints = [
        [item for item in resources.values() if item["Type"] == "AWS::SageMaker::Endpoint"]
        for resources in (old, new)
    ]
    assert endpoints[0] == endpoints[1]


def test_another_removal_changes_what_stays_and_replaces_nothing(
    synth: Synth, templates: dict[str, Templates]
) -> None:
    before = templates["dev"]["Artifacts"]["Resources"]
    retained = load_environment("dev").model_copy(update={"removal": "retain"})
    after = synth(retained, None)["Artifacts"]["Resources"]
    assert before.keys() == after.keys()
    changed = {key for key in before if before[key] != after[key]}
    assert {before[key]["Type"] for key in changed} == {"AWS::S3::Bucket", "AWS::ECR::Repository"}
    for key in changed:
        old, new = before[key]["Properties"], after[key]["Properties"]
        assert {name for name in old if old[name] != new.get(name)} <= {"EmptyOnDelete"}


def test_tags_are_both_stacks(tmp_path: Path, example_lock: ExampleLock) -> None:
    demo = load_environment("demo")
    app = App(analytics_reporting=False, outdir=str(tmp_path))
    build((demo.model_copy(update={"tags": {"team": "x"}}), example_lock(demo)), app=app)
    stacks = [stack for stack in app.node.children if isinstance(stack, Stack)]
    assert len(stacks) == 2
    for stack in stacks:
        assert stack.tags.tag_values() == {"semif:environment": "demo", "team": "x"}


def test_another_archive_gets_a_policy_of_its_own(
    synth: Synth, example_lock: ExampleLock, templates: dict[str, Templates]
) -> None:
    """CloudFormation removes the old one last, so that the old Model can read its archive until then."""
    dev = load_environment("dev")
    after = synth(dev, with_model(example_lock(dev)))["Endpoint"]["Resources"]
    before = templates["dev"]["Endpoint"]["Resources"]

    def readers(resources: dict[str, Any]) -> set[str]:
        return {
            key for key, item in resources.items() if item["Type"] == POLICY and "s3:GetObject" in str(item)
        }

    assert len(readers(before)) == len(readers(after)) == 1
    assert not readers(before) & readers(after)


def test_the_linter_finds_no_errors(
    tmp_path: Path, templates: dict[str, Templates], matrix: dict[str, Templates]
) -> None:
    for name, stacks in (templates | matrix).items():
        for stack, template in stacks.items():
            (tmp_path / f"{name}-{stack}.json").write_text(json.dumps(template))
    files = sorted(tmp_path.glob("*.json"))
    linter = Path(sys.executable).with_name("cfn-lint")
    done = subprocess.run(
        # W3005 is about dependencies that say twice what a reference says: the CDK writes them.
        [linter, "--ignore-checks", "W3005", "--regions", "eu-central-1", "us-east-1", "--", *files],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_constructs_folder_does_not_shadow_the_library(root: Path) -> None:
    assert not (root / "constructs" / "__init__.py").exists()
    assert constructs.__file__ is not None
    assert root / "constructs" not in Path(constructs.__file__).resolve().parents
