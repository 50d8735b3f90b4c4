"""Both builds, followed to their end: the lock is written from what they export, or stays as it was.

S3 and CloudFormation are moto's. CodeBuild's and CloudWatch Logs' replies are botocore-checked shapes as the
services send them.
"""

import hashlib
import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from botocore.stub import ANY, Stubber
from moto import mock_aws

from semif.aws.clients import Aws
from semif.aws.s3 import S3Uri
from semif.builds.codebuild import BuildError
from semif.builds.environment_builds import build_environment, stale_image
from semif.builds.sources import IMAGE_SOURCES, pack_sources, source_revision
from semif.environment.environment import load_environment
from semif.errors import SemifError
from semif.images.base_images import base_image
from semif.images.regional_images import regional_image
from semif.lock.check import check_lock
from semif.lock.lock_file import LOCAL_ACCOUNT, BuiltImage, Lock, PublishedImage, UnbuiltImage, read_lock
from semif.models.packaging.hashed_file import HashedFile
from semif.models.packaging.publish import MANIFEST_METADATA, publish
from semif.models.packaging.read_back import CONTENT_METADATA
from semif.models.presets import load_preset
from semif.project.root import project_root
from semif.target.target import Target
from tests.support.servers.image_scans import scan, scanned

ACCOUNT = "123456789012"
BUCKET = "semif-demo-models"
DIGEST = "sha256:" + "d" * 64
TEMPLATE = {
    "Resources": {"Bucket": {"Type": "AWS::S3::Bucket", "Properties": {"BucketName": BUCKET}}},
    "Outputs": {
        "BucketName": {"Value": BUCKET},
        "RepositoryUri": {"Value": f"{ACCOUNT}.dkr.ecr.us-east-1.amazonaws.com/semif"},
        "ImageProjectName": {"Value": "image-project"},
        "ModelProjectName": {"Value": "model-project"},
    },
}


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> Iterator[Aws]:
    monkeypatch.delenv("AWS_PROFILE", raising=False)
    with mock_aws():
        found = Aws(region="us-east-1")
        with scanned(found, scan("COMPLETE"), usually=True):
            yield found


@pytest.fixture
def stack(aws: Aws) -> None:
    aws.cloudformation.create_stack(StackName="Semif-demo-Artifacts", TemplateBody=json.dumps(TEMPLATE))


@pytest.fixture
def codebuild(aws: Aws) -> Iterator[Stubber]:
    with Stubber(aws.codebuild) as stub:
        yield stub
        stub.assert_no_pending_responses()


@pytest.fixture
def logs(aws: Aws) -> Iterator[Stubber]:
    with Stubber(aws.logs) as stub:
        yield stub


def target_of(
    aws: Aws, tmp_path: Path, *, name: str = "demo", local: bool = False, account: str = ACCOUNT
) -> Target:
    environment = load_environment(name)
    path = tmp_path / f"{name}.lock.json"
    return Target(project_root(), environment, aws, account, path, local=local, poll_seconds=0)


def image_source() -> str:
    return pack_sources(project_root(), IMAGE_SOURCES).sha256


def image_variables() -> dict[str, str]:
    return {"REVISION": source_revision(project_root()), "SOURCE_SHA256": image_source()}


def image_exports(**changed: str) -> dict[str, str]:
    return {
        "IMAGE_URI": f"{ACCOUNT}.dkr.ecr.us-east-1.amazonaws.com/semif@{DIGEST}",
        "IMAGE_SOURCE_SHA256": image_source(),
        "IMAGE_BASE": f"public.ecr.aws/base/server@{DIGEST}",
        **changed,
    }


def model_exports(preset: str = "embedded", **changed: str) -> dict[str, str]:
    manifest = load_preset(preset).manifest().sha256
    return {
        "MODEL_S3_URI": f"s3://{BUCKET}/models/{manifest}/model.tar.gz",
        "MODEL_ARCHIVE_SHA256": "a" * 64,
        "MODEL_MANIFEST_SHA256": manifest,
        "MODEL_FORMAT": "tar.gz",
        **changed,
    }


def build(name: str, status: str, exports: dict[str, str] | None = None, **changed: Any) -> dict[str, Any]:
    """A Build of BatchGetBuilds."""
    return {
        "id": f"{name}-project:1",
        "currentPhase": "BUILD" if status == "IN_PROGRESS" else "COMPLETED",
        "buildStatus": status,
        "exportedEnvironmentVariables": [{"name": k, "value": v} for k, v in (exports or {}).items()],
        **changed,
    }


def failed_phase(phase: str, code: str, message: str) -> dict[str, Any]:
    context = {"statusCode": code, "message": message}
    return {
        "phases": [
            {"phaseType": "SUBMITTED", "phaseStatus": "SUCCEEDED"},
            {"phaseType": phase, "phaseStatus": "FAILED", "contexts": [context]},
            {"phaseType": "COMPLETED"},
        ]
    }


def expect_start(codebuild: Stubber, name: str, variables: dict[str, str], *, number: int = 1) -> None:
    codebuild.add_response(
        "start_build",
        {"build": {"id": f"{name}-project:{number}"}},
        {
            "projectName": f"{name}-project",
            "sourceTypeOverride": "S3",
            "sourceLocationOverride": f"{BUCKET}/sources/{image_source()}.zip" if name == "image" else ANY,
            "environmentVariablesOverride": [
                {"name": variable, "value": value, "type": "PLAINTEXT"}
                for variable, value in variables.items()
            ],
        },
    )


def expect_starts(codebuild: Stubber) -> None:
    """Both builds start from the uploaded zips, with what each needs to know."""
    expect_start(codebuild, "image", image_variables())
    expect_start(codebuild, "model", {"MODEL_FORMAT": "tar.gz", "PRESET": "embedded"})


def expect_look(codebuild: Stubber, *builds: dict[str, Any]) -> None:
    codebuild.add_response(
        "batch_get_builds", {"builds": list(builds)}, {"ids": [build["id"] for build in builds]}
    )


def test_what_the_builds_export_becomes_the_lock(
    aws: Aws, stack: None, codebuild: Stubber, logs: Stubber, tmp_path: Path
) -> None:
    expect_starts(codebuild)
    expect_look(codebuild, build("image", "IN_PROGRESS"), build("model", "SUCCEEDED", model_exports()))
    expect_look(codebuild, build("image", "SUCCEEDED", image_exports()))
    target = target_of(aws, tmp_path)
    lock = build_environment(target)
    assert read_lock(target.lock_path) == lock
    assert (lock.environment, lock.kind, lock.account, lock.region) == (
        "demo",
        "decision",
        ACCOUNT,
        "us-east-1",
    )
    assert isinstance(lock.image, BuiltImage)
    assert str(lock.image.uri).endswith(DIGEST)
    assert lock.model.s3_uri == model_exports()["MODEL_S3_URI"]
    kept = aws.s3.list_objects_v2(Bucket=BUCKET, Prefix="sources/")["Contents"]
    assert f"sources/{image_source()}.zip" in {item["Key"] for item in kept}


def test_an_image_with_a_critical_finding_gets_no_lock(
    aws: Aws, stack: None, codebuild: Stubber, logs: Stubber, tmp_path: Path
) -> None:
    expect_starts(codebuild)
    expect_look(
        codebuild,
        build("image", "SUCCEEDED", image_exports()),
        build("model", "SUCCEEDED", model_exports()),
    )
    target = target_of(aws, tmp_path)
    with (
        scanned(aws, scan("COMPLETE", "CVE-2026-1111")),
        pytest.raises(BuildError, match=f"semif@{DIGEST} has critical findings: CVE-2026-1111"),
    ):
        build_environment(target)
    assert not target.lock_path.exists()


@pytest.mark.parametrize(
    ("changed", "refused"),
    [
        ({"IMAGE_REUSED": "yes"}, True),
        ({}, True),  # by a buildspec that does not say
        ({"IMAGE_REUSED": "no"}, False),  # built anew, since the repository was emptied, say
        ({"IMAGE_REUSED": "yes", "IMAGE_BASE": f"mirror.example/server@{DIGEST}"}, True),  # the same tag
        ({"IMAGE_REUSED": "yes", "IMAGE_BASE": f"public.ecr.aws/base/server@sha256:{'f' * 64}"}, False),
    ],
)
def test_an_image_that_was_there_already_is_the_one_of_the_lock(
    aws: Aws, stack: None, codebuild: Stubber, tmp_path: Path, changed: dict[str, str], refused: bool
) -> None:
    """Who may push writes its tag and its labels: another digest under them was not made by our build."""
    target = target_of(aws, tmp_path)
    other = f"{ACCOUNT}.dkr.ecr.us-east-1.amazonaws.com/semif@sha256:{'e' * 64}"
    for exports in ({"IMAGE_REUSED": "no"}, {"IMAGE_REUSED": "yes"}, {"IMAGE_URI": other, **changed}):
        expect_starts(codebuild)
        built = [build("image", "SUCCEEDED", image_exports(**exports))]
        expect_look(codebuild, *built, build("model", "SUCCEEDED", model_exports()))
        if exports.get("IMAGE_URI") and refused:
            with pytest.raises(BuildError, match=f"@sha256:e+ under the tag .* names .*@{DIGEST}"):
                build_environment(target)
        else:
            build_environment(target)
    image = read_lock(target.lock_path).image
    assert isinstance(image, BuiltImage)
    assert str(image.uri).endswith(DIGEST) == refused


@pytest.mark.parametrize("kept", [None, "", ".previous", ".noted.previous"])
def test_an_image_that_no_lock_names_is_told_with_the_way_to_be_rid_of_it(
    aws: Aws, stack: None, codebuild: Stubber, tmp_path: Path, kept: str | None
) -> None:
    """The lock that was in service before vouches as well: sources go back, too."""
    target = target_of(aws, tmp_path)
    warnings: list[str] = []
    for exports in ({"IMAGE_REUSED": "no"}, {"IMAGE_REUSED": "yes"}):
        expect_starts(codebuild)
        built = build("image", "SUCCEEDED", image_exports(**exports))
        expect_look(codebuild, built, build("model", "SUCCEEDED", model_exports()))
        build_environment(target, on_note=warnings.append)
        assert (warnings == []) == (exports["IMAGE_REUSED"] == "no" or kept is not None)
        target.lock_path.rename(tmp_path / ("gone" if kept is None else f"demo{kept}.lock.json"))
    if kept is None:
        assert "no lock names it" in warnings[0]
        assert f"--repository-name semif --image-ids imageDigest={DIGEST}" in warnings[0]


def test_an_archive_that_is_published_is_not_built_again(
    aws: Aws, stack: None, codebuild: Stubber, tmp_path: Path
) -> None:
    exported, path = model_exports(), tmp_path / "model.tar.gz"
    path.write_bytes(b"an archive")
    archive = HashedFile(path, 10, hashlib.sha256(b"an archive").hexdigest())
    publish(aws.s3, archive, S3Uri.parse(exported["MODEL_S3_URI"]), exported["MODEL_MANIFEST_SHA256"])
    expect_start(codebuild, "image", image_variables())
    expect_look(codebuild, build("image", "SUCCEEDED", image_exports()))
    lock = build_environment(target_of(aws, tmp_path))
    assert lock.model.s3_uri == exported["MODEL_S3_URI"]
    assert lock.model.archive_sha256 == archive.sha256


def test_an_archive_that_nobody_read_back_is_left_to_a_build(
    aws: Aws, stack: None, codebuild: Stubber, tmp_path: Path
) -> None:
    """As one leaves it that was stopped after the upload; the next one reads it back, beside the bucket."""
    exported = model_exports()
    metadata = {
        MANIFEST_METADATA: exported["MODEL_MANIFEST_SHA256"],
        CONTENT_METADATA: exported["MODEL_ARCHIVE_SHA256"],
    }
    key = exported["MODEL_S3_URI"].removeprefix(f"s3://{BUCKET}/")
    aws.s3.put_object(Bucket=BUCKET, Key=key, Body=b"", Metadata=metadata)
    expect_starts(codebuild)
    expect_look(
        codebuild, build("image", "SUCCEEDED", image_exports()), build("model", "SUCCEEDED", exported)
    )
    assert build_environment(target_of(aws, tmp_path)).model.s3_uri == exported["MODEL_S3_URI"]


def test_a_pool_of_gpus_that_ends_in_cpus_has_two_images(
    aws: Aws, stack: None, codebuild: Stubber, tmp_path: Path
) -> None:
    target = target_of(aws, tmp_path)
    demo = target.environment
    pool = {"instance_type": None, "instance_pool": ["ml.g6.xlarge", "ml.c6i.large"]}
    mixed = demo.model_copy(update={"endpoint": demo.endpoint.model_copy(update=pool)})
    uris = [f"{ACCOUNT}.dkr.ecr.us-east-1.amazonaws.com/semif@sha256:{digit * 64}" for digit in "ab"]
    expect_start(codebuild, "image", image_variables())
    expect_start(codebuild, "image", {"BASE_IMAGE": str(base_image("cpu")), **image_variables()}, number=2)
    expect_start(codebuild, "model", {"MODEL_FORMAT": "tar.gz", "PRESET": "embedded"})
    exports = [
        image_exports(IMAGE_URI=uri, IMAGE_BASE=str(base_image(base)))
        for uri, base in zip(uris, ("cuda", "cpu"), strict=True)
    ]
    expect_look(
        codebuild,
        build("image", "SUCCEEDED", exports[0]),
        build("image", "SUCCEEDED", exports[1], id="image-project:2"),
        build("model", "SUCCEEDED", model_exports()),
    )
    lock = build_environment(replace(target, environment=mixed))
    assert read_lock(target.lock_path) == lock
    assert list(lock.image_uris.values()) == uris
    check_lock(lock, mixed, source="x", bases=True)


def test_text_builds_its_model_only_and_locks_the_published_image(
    aws: Aws, codebuild: Stubber, tmp_path: Path
) -> None:
    outputs = {key: TEMPLATE["Outputs"][key] for key in ("BucketName", "ModelProjectName")}
    template = json.dumps({**TEMPLATE, "Outputs": outputs})
    aws.cloudformation.create_stack(StackName="Semif-text-Artifacts", TemplateBody=template)
    target = target_of(aws, tmp_path, name="text")
    preset = target.environment.model.preset
    expect_start(codebuild, "model", {"MODEL_FORMAT": "tar.gz", "PRESET": preset})
    expect_look(codebuild, build("model", "SUCCEEDED", model_exports(preset)))
    lock = build_environment(target)
    assert read_lock(target.lock_path) == lock
    assert lock.image == PublishedImage(uri=regional_image("cpu", "us-east-1"), base=base_image("cpu"))
    assert lock.image_uri.startswith("763104351884.dkr.ecr.us-east-1.amazonaws.com/llama-cpp@sha256:")


def test_a_failed_build_tells_phase_reason_and_last_lines_and_leaves_the_lock(
    aws: Aws, stack: None, codebuild: Stubber, logs: Stubber, tmp_path: Path
) -> None:
    expect_starts(codebuild)
    failed = build(
        "model",
        "FAILED",
        logs={"groupName": "group", "streamName": "stream"},
        **failed_phase("BUILD", "COMMAND_EXECUTION_ERROR", "exit status 1"),
    )
    expect_look(codebuild, build("image", "SUCCEEDED", image_exports()), failed)
    events = [{"timestamp": n, "message": f"line {n}\n"} for n in range(100)]
    query = {"logGroupName": "group", "logStreamName": "stream", "startFromHead": True}
    logs.add_response("get_log_events", {"events": events, "nextForwardToken": "f/1"}, query)
    for late in ([], [{"timestamp": 100, "message": "the hash differs"}]):
        logs.add_response(
            "get_log_events", {"events": late, "nextForwardToken": "f/1"}, query | {"nextToken": "f/1"}
        )
    target = target_of(aws, tmp_path)
    target.lock_path.write_text("the lock of the last build")
    with pytest.raises(BuildError) as caught:
        build_environment(target)
    first, *lines = str(caught.value).splitlines()
    assert first == "the model build ended FAILED in phase BUILD: exit status 1 (model-project:1)"
    assert lines[-2:] == ["  line 99", "  the hash differs"]
    assert len(lines) < 20
    assert target.lock_path.read_text() == "the lock of the last build"


@pytest.mark.parametrize(
    ("image", "model", "message"),
    [
        ({"IMAGE_URI": "registry.example/semif:latest"}, {}, "names a tag"),
        ({"IMAGE_URI": f"elsewhere.example/semif@{DIGEST}"}, {}, "image.uri is in 'elsewhere.example'"),
        ({}, {"MODEL_MANIFEST_SHA256": "b" * 64}, "this is not the pinned model"),
        ({}, {"MODEL_S3_URI": ""}, r"model\.s3_uri"),
    ],
)
def test_exports_that_pin_nothing_leave_the_lock(
    aws: Aws,
    stack: None,
    codebuild: Stubber,
    tmp_path: Path,
    image: dict[str, str],
    model: dict[str, str],
    message: str,
) -> None:
    expect_starts(codebuild)
    builds = [
        build("image", "SUCCEEDED", image_exports(**image)),
        build("model", "SUCCEEDED", model_exports(**model)),
    ]
    expect_look(codebuild, *builds)
    target = target_of(aws, tmp_path)
    with pytest.raises(SemifError, match=message):
        build_environment(target)
    assert not target.lock_path.exists()


NOT_BUILT = failed_phase("PROVISIONING", "NO_CONTAINER_ENGINE", "not built: no container engine")


def test_on_this_machine_the_lock_says_that_no_image_was_built(
    aws: Aws, stack: None, codebuild: Stubber, tmp_path: Path
) -> None:
    expect_starts(codebuild)
    expect_look(
        codebuild, build("image", "FAILED", **NOT_BUILT), build("model", "SUCCEEDED", model_exports())
    )
    target = target_of(aws, tmp_path, local=True, account="000000000000")
    lock = build_environment(target)
    assert lock.image == UnbuiltImage(built=False, source_sha256=image_source())


def test_in_an_account_an_image_that_was_not_built_is_a_failure(
    aws: Aws, stack: None, codebuild: Stubber, tmp_path: Path
) -> None:
    expect_starts(codebuild)
    expect_look(
        codebuild, build("image", "FAILED", **NOT_BUILT), build("model", "SUCCEEDED", model_exports())
    )
    target = target_of(aws, tmp_path)
    with pytest.raises(BuildError, match="the image build ended FAILED in phase PROVISIONING: not built"):
        build_environment(target)
    assert not target.lock_path.exists()


def test_without_the_artifacts_stack_nothing_is_built(aws: Aws, codebuild: Stubber, tmp_path: Path) -> None:
    with pytest.raises(
        SemifError, match=r"Semif-demo-Artifacts is not deployed in us-east-1; run `semif deploy demo`"
    ):
        build_environment(target_of(aws, tmp_path))


def test_an_image_built_from_other_files_than_are_here_is_told(tmp_path: Path) -> None:
    target = target_of(Aws(region="us-east-1"), tmp_path)
    lock = Lock.model_validate(
        {
            "environment": "demo",
            "kind": "decision",
            "account": LOCAL_ACCOUNT,
            "region": "us-east-1",
            "image": {"built": False, "source_sha256": image_source()},
            "model": {
                "preset": "embedded",
                "manifest_sha256": "a" * 64,
                "s3_uri": f"s3://{BUCKET}/x",
                "archive_sha256": "a" * 64,
                "format": "tar.gz",
            },
        }
    )
    assert stale_image(target, lock) is None
    project = tmp_path / "project"
    shutil.copytree(target.root / "adapter_image", project / "adapter_image")
    shutil.copy(target.root / "buildspec.yml", project)
    with (project / "adapter_image" / "Dockerfile").open("a") as file:
        file.write("# changed")
    changed = stale_image(replace(target, root=project), lock)
    assert changed is not None
    assert "`semif deploy demo` builds it anew" in changed
