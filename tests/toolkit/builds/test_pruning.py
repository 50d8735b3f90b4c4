"""Pruning: what a lock, a Model or an endpoint names stays, and what nothing names goes with all its bytes.

S3, ECR, CloudFormation and SageMaker are moto's.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner
from moto import mock_aws
from moto.ecr.models import ecr_backends

from semif.aws.clients import Aws
from semif.builds.pruning.pruning import Pruning, find_prunable, prune
from semif.cli import main
from semif.errors import ProblemsError, SemifError
from semif.images.base_images import base_image
from semif.lock.lock_file import Lock, write_lock
from semif.project.root import PROJECT_VARIABLE
from semif.target.target import open_target

ROOT = Path(__file__).parents[3]

ACCOUNT, REGION = "123456789012", "us-east-1"
BUCKET, REPOSITORY = "semif-live-models", "semif-live"
URI = f"{ACCOUNT}.dkr.ecr.{REGION}.amazonaws.com/{REPOSITORY}"
DOCKER = "application/vnd.docker.distribution.manifest.v2+json"
BASE_LAYER = {"digest": f"sha256:{'b' * 64}", "size": 5_000_000_000}
LOCKED, MODELLED, DEPLOYED, NEWEST, OLD, OLDEST = (f"{number}" * 64 for number in range(6))
"""Content hashes: what a lock, a Model and an endpoint names, and what nothing does."""


def manifest_of(sha256: str) -> str:
    """An image's, with a layer of its own above the one that all have."""
    own = {"digest": f"sha256:{sha256[:32]}{'a' * 32}", "size": 1000}
    config = {"digest": f"sha256:{sha256[:32]}{'c' * 32}", "size": 24}
    return json.dumps(
        {"schemaVersion": 2, "mediaType": DOCKER, "config": config, "layers": [BASE_LAYER, own]}
    )


def push(aws: Aws, sha256: str, tag: str | None = None) -> None:
    aws.ecr.put_image(
        repositoryName=REPOSITORY,
        imageManifest=manifest_of(sha256),
        imageManifestMediaType=DOCKER,
        imageTag=tag or f"{sha256}-{sha256[:32]}",
        imageDigest=f"sha256:{sha256}",
    )


def lock_of(manifest: str, image: str, source: str, name: str = "live") -> Lock:
    return Lock.model_validate(
        {
            "environment": name,
            "kind": "decision",
            "account": ACCOUNT,
            "region": REGION,
            "image": {
                "uri": f"{URI}@sha256:{image}",
                "source_sha256": source,
                "base": str(base_image("cpu")),
            },
            "model": {
                "preset": "embedded",
                "manifest_sha256": manifest,
                "archive_sha256": "f" * 64,
                "s3_uri": f"s3://{BUCKET}/models/{manifest}/model.tar.gz",
                "format": "tar.gz",
            },
        }
    )


@pytest.fixture(scope="module")
def aws() -> Aws:
    """Its clients take a second each to make, and hold nothing."""
    return Aws(region=REGION)


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, aws: Aws) -> Iterator[SimpleNamespace]:
    """A bucket and a repository that hold six of each; of three of them something is named."""
    for folder in ("models", "adapter_image"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    locks = tmp_path / "environments"
    locks.mkdir()
    (locks / "live.toml").write_text((ROOT / "environments" / "demo.toml").read_text())
    monkeypatch.setenv(PROJECT_VARIABLE, str(tmp_path))
    monkeypatch.setenv("AWS_REGION", REGION)
    for name in ("AWS_PROFILE", "AWS_ENDPOINT_URL"):
        monkeypatch.delenv(name, raising=False)
    with mock_aws():
        template = {
            "Resources": {
                "Bucket": {"Type": "AWS::S3::Bucket", "Properties": {"BucketName": BUCKET}},
                "Repository": {
                    "Type": "AWS::ECR::Repository",
                    "Properties": {"RepositoryName": REPOSITORY},
                },
            },
            "Outputs": {"BucketName": {"Value": BUCKET}, "RepositoryUri": {"Value": URI}},
        }
        aws.cloudformation.create_stack(StackName="Semif-live-Artifacts", TemplateBody=json.dumps(template))
        aws.s3.put_bucket_versioning(Bucket=BUCKET, VersioningConfiguration={"Status": "Enabled"})
        for sha256 in (OLDEST, OLD, NEWEST, DEPLOYED, MODELLED, LOCKED):
            push(aws, sha256)
            for key in (
                f"models/{sha256}/model.tar.gz",
                f"models/{sha256}/files/model-manifest.json",
                f"sources/{sha256}.zip",
                f"images/{sha256}/sbom.cdx.json",
            ):
                aws.s3.put_object(Bucket=BUCKET, Key=key, Body=key.encode())
        images = ecr_backends[ACCOUNT][REGION].repositories[REPOSITORY].images
        for day, image in enumerate(images, start=1):  # moto's times are whole seconds
            image.image_pushed_at = int(datetime(2026, 11, day, tzinfo=UTC).timestamp())
        write_lock(locks / "other.lock.json", lock_of(LOCKED, LOCKED, LOCKED, "other"))
        model(aws, "elsewhere", MODELLED)
        model(aws, "served", DEPLOYED)
        variant = {"VariantName": "primary", "ModelName": "served", "InstanceType": "ml.c5.large"}
        aws.sagemaker.create_endpoint_config(
            EndpointConfigName="served", ProductionVariants=[{**variant, "InitialInstanceCount": 1}]
        )
        aws.sagemaker.create_endpoint(EndpointName="served", EndpointConfigName="served")
        target = replace(open_target("live", on_this_machine=False), aws=aws)
        yield SimpleNamespace(aws=aws, target=target, locks=locks)


def model(aws: Aws, name: str, sha256: str) -> None:
    """A Model whose data is a prefix, and whose image is named by its tag."""
    source = {
        "S3Uri": f"s3://{BUCKET}/models/{sha256}/files/",
        "S3DataType": "S3Prefix",
        "CompressionType": "None",
    }
    aws.sagemaker.create_model(
        ModelName=name,
        ExecutionRoleArn=f"arn:aws:iam::{ACCOUNT}:role/hosting",
        PrimaryContainer={
            "Image": f"{URI}:{sha256}-{sha256[:32]}",
            "ModelDataSource": {"S3DataSource": source},
        },
    )


def kept(pruning: Pruning, kind: str) -> dict[str, str]:
    """Content hashes of what stays of a kind, and why."""
    return {item.sha256: item.kept_by for item in pruning.items if item.kind == kind and item.kept_by}


def test_what_is_named_stays_and_so_do_the_newest(world: SimpleNamespace) -> None:
    found = find_prunable(world.target, keep=1)
    images = {
        LOCKED: "other.lock.json",
        MODELLED: "the Model elsewhere",
        DEPLOYED: "the Model served",
        NEWEST: "one of the 1 newest",
    }
    assert kept(found, "model") == kept(found, "image") == images
    assert set(kept(found, "source")) == {LOCKED, MODELLED}, (
        "of sources, locks alone speak; one is the newest"
    )
    assert set(kept(found, "image record")) == set(images), "it stays with its image"
    assert {item.sha256 for item in found.going if item.kind == "model"} == {OLD, OLDEST}
    assert found.ecr_bytes == 2 * (1000 + 24), "the layer that all images have is not freed"


def test_pruning_frees_all_versions_and_nothing_else(world: SimpleNamespace) -> None:
    aws: Aws = world.aws
    over = f"models/{OLD}/model.tar.gz"
    aws.s3.put_object(Bucket=BUCKET, Key=over, Body=b"written over")
    aws.s3.delete_object(Bucket=BUCKET, Key=over)
    kept_twice = f"models/{LOCKED}/model.tar.gz"
    aws.s3.put_object(Bucket=BUCKET, Key=kept_twice, Body=b"by mistake")
    for key in ("models/README", "models/short/model.tar.gz", "backup/everything.tar"):
        aws.s3.put_object(Bucket=BUCKET, Key=key, Body=b"somebody's")
    push(aws, "9" * 64, tag="handmade")

    found = find_prunable(world.target, keep=0)
    before = stored(aws)
    prune(world.target, found)

    gone = {key for key, _ in before - stored(aws)}
    assert {key.split("/")[1].removesuffix(".zip") for key in gone} == {
        *(OLD, OLDEST, NEWEST),
        *(MODELLED, DEPLOYED),  # their sources, which no lock names
    }
    assert {key for key in gone if MODELLED in key or DEPLOYED in key} == {
        f"sources/{sha256}.zip" for sha256 in (MODELLED, DEPLOYED)
    }
    assert not [key for key, _ in stored(aws) if OLD in key], "no version and no delete marker is left"
    assert len([key for key, _ in stored(aws) if key == kept_twice]) == 2
    assert found.older_bytes == len(kept_twice), "what was written over stays, and is told"
    digests = {image["imageDigest"] for image in aws.ecr.list_images(repositoryName=REPOSITORY)["imageIds"]}
    assert digests == {f"sha256:{sha256}" for sha256 in (LOCKED, MODELLED, DEPLOYED, "9" * 64)}
    assert not find_prunable(world.target, keep=0).going


def stored(aws: Aws) -> set[tuple[str, str]]:
    page = aws.s3.list_object_versions(Bucket=BUCKET)
    return {(item["Key"], item["VersionId"]) for item in [*page["Versions"], *page.get("DeleteMarkers", [])]}


@pytest.mark.parametrize(
    ("name", "lock"),
    [
        ("live", lock_of(OLDEST, OLDEST, OLDEST)),
        ("live.previous", lock_of(OLDEST, OLDEST, OLDEST)),
        ("far", lock_of(OLDEST, OLDEST, OLDEST, "far").model_copy(update={"account": "999999999999"})),
    ],
    ids=["its own", "of a rollback", "of another account, promoted from here"],
)
def test_every_lock_counts(world: SimpleNamespace, name: str, lock: Lock) -> None:
    write_lock(world.locks / f"{name}.lock.json", lock)
    found = find_prunable(world.target, keep=0)
    for kind in ("model", "source", "image", "image record"):
        assert OLDEST in kept(found, kind)


def test_nothing_is_pruned_where_it_is_not_known_what_is_needed(world: SimpleNamespace) -> None:
    broken = world.locks / "broken.lock.json"
    broken.write_text("{}")
    with pytest.raises(SemifError, match=r"broken\.lock\.json"):
        find_prunable(world.target, keep=0)
    broken.unlink()
    world.aws.sagemaker.delete_model(ModelName="served")
    with pytest.raises(SemifError, match=r"the endpoint served runs what a deleted Model said"):
        find_prunable(world.target, keep=0)


def test_an_image_that_ecr_does_not_delete_is_told(world: SimpleNamespace) -> None:
    def refuse(**_: object) -> tuple[SimpleNamespace, dict[str, Any]]:
        failure = {
            "imageId": {"imageDigest": f"sha256:{OLD}"},
            "failureCode": "ImageReferencedByManifestList",
            "failureReason": "an index names it",
        }
        return SimpleNamespace(status_code=200), {"imageIds": [], "failures": [failure]}

    world.aws.ecr.meta.events.register("before-call.ecr.BatchDeleteImage", refuse)
    with pytest.raises(ProblemsError, match=f"sha256:{OLD} was not deleted: an index names it"):
        prune(world.target, find_prunable(world.target, keep=0))


def test_the_command_deletes_only_when_told_to(world: SimpleNamespace) -> None:
    before = stored(world.aws)
    shown = CliRunner().invoke(main, ["prune", "live", "--keep", "1"])
    assert shown.exit_code == 0, shown.output
    told = json.loads(CliRunner().invoke(main, ["prune", "live", "--keep", "1", "--json"]).stdout)
    assert "nothing was deleted, --yes does" in shown.stdout
    assert f"in s3://{BUCKET}\nin {URI}\n" in shown.stdout
    assert re.search(rf"(?m)^  stays +model +{MODELLED[:12]} .* the Model elsewhere$", shown.stdout)
    assert re.search(rf"(?m)^  goes +image +{OLDEST[:12]} +2026-11-01 +24 bytes *$", shown.stdout)
    sizes = {item["sha256"]: item["bytes"] for item in told["items"] if item["kind"] == "image"}
    assert set(sizes.values()) == {24}, "as DescribeImages tells; moto's takes the configuration's"
    assert told["freed_bytes"] == told["s3_bytes"] + told["ecr_bytes"] > told["ecr_bytes"]
    assert (told["deleted"], stored(world.aws)) == (False, before)
    going = {item["address"] for item in told["items"] if item["kept_by"] is None}
    assert f"{URI}@sha256:{OLDEST}" in going
    assert f"s3://{BUCKET}/models/{OLDEST}/" in going
    done = CliRunner().invoke(main, ["prune", "live", "--keep", "1", "--yes"])
    assert done.exit_code == 0, done.output
    assert "deleted" in done.stdout
    assert len(stored(world.aws)) == len(before) - 2 * 3 - 4, "two of models and records, four of sources"
