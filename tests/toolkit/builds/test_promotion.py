"""Promotion: the same image digest and the same archive elsewhere, or nothing at all."""

import json
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from botocore.exceptions import ClientError
from click.testing import CliRunner

from semif.aws.clients import Aws
from semif.builds import promotion
from semif.builds.promotion import promote, promoted_lock
from semif.cli import main
from semif.environment.environment import Environment, load_environment
from semif.errors import ProblemsError, SemifError
from semif.images.base_images import base_image
from semif.images.image_copy import EcrRepository, copy_image
from semif.images.image_ref import ImageRef
from semif.lock.lock_file import BuiltImage, Lock, Origin, read_lock, write_lock
from semif.models.packaging.publish import MANIFEST_METADATA
from semif.models.packaging.read_back import CONTENT_METADATA
from semif.models.presets import load_preset
from tests.support.promotion import (
    ACCOUNT,
    ARCHIVE,
    DOCKER,
    SOURCE_SHA256,
    Layers,
    environment,
    layer_urls,
    push_image,
    sha256,
    stack_of,
)
from tests.support.servers.image_scans import scan, scanned


def image_in(aws: Aws, **image_id: str) -> dict[str, Any] | None:
    found: Any = aws.ecr.batch_get_image(repositoryName="semif-live", imageIds=[image_id])["images"]
    return found[0] if found else None


@pytest.mark.parametrize("same_account", [True, False])
def test_the_same_image_and_archive_are_elsewhere_and_the_lock_says_where_they_were_built(
    chain: SimpleNamespace, layers: Layers, same_account: bool
) -> None:
    if not same_account:  # moto opens one account for both: what counts is the way of the bytes
        chain.source = replace(chain.source, account="999999999999")
        lock = read_lock(chain.source.lock_path).model_dump(by_alias=True, mode="json", exclude_none=True)
        lock["account"] = "999999999999"
        lock["image"]["uri"] = lock["image"]["uri"].replace(ACCOUNT, "999999999999")
        write_lock(chain.source.lock_path, Lock.model_validate(lock))
    steps: dict[str, tuple[int, int]] = {}

    done = promote(chain.source, chain.target, lambda step, now, total: steps.update({step: (now, total)}))

    lock = read_lock(chain.target.lock_path)
    assert lock == done.lock == promoted_lock(chain.target)
    assert (done.image_copied, done.model_copied, done.lock_changed) == (True, True, True)
    assert lock.built_in == Origin(environment="tried", account=chain.source.account, region="us-east-1")
    assert lock.image_uri == f"{ACCOUNT}.dkr.ecr.eu-central-1.amazonaws.com/semif-live@{chain.digest}"
    tag = f"{SOURCE_SHA256}-{base_image('cpu').digest.removeprefix('sha256:')[:32]}"
    image = image_in(chain.target.aws, imageTag=tag)
    assert image is not None
    assert image["imageManifest"] == chain.manifest
    assert image["imageId"]["imageDigest"] == chain.digest
    stored = chain.target.aws.s3.get_object(Bucket=lock.model.bucket, Key=lock.model.key)
    assert stored["Body"].read() == ARCHIVE
    assert stored["Metadata"][CONTENT_METADATA] == sha256(ARCHIVE)
    assert stored["Metadata"][MANIFEST_METADATA] == lock.model.manifest_sha256
    record = f"images/{chain.digest.removeprefix('sha256:')}/sbom.cdx.json"
    assert chain.target.aws.s3.get_object(Bucket=lock.model.bucket, Key=record)["Body"].read() == b"{}"
    assert all(now == total for now, total in steps.values())
    assert {"copy the image's layers", "read back"} <= steps.keys()
    assert len(layers.served) == 3  # each layer once, though the manifest names one of them twice


def test_what_of_an_image_is_not_stored_is_told(chain: SimpleNamespace, layers: Layers) -> None:
    """Its licences here: `built_lock` stores the bill of materials alone."""
    notes: list[str] = []
    promote(chain.source, chain.target, on_note=notes.append)
    (told,) = [note for note in notes if "licences" in note]
    bucket = read_lock(chain.source.lock_path).model.bucket
    key = f"images/{chain.digest.removeprefix('sha256:')}/licences.txt"
    assert told == (
        f"s3://{bucket}/{key} is not there, so it was not copied: "
        "`semif build tried` stores it; promote again"
    )
    chain.source.aws.s3.put_object(Bucket=bucket, Key=key, Body=b"MIT")
    notes.clear()
    promote(chain.source, chain.target, on_note=notes.append)
    promote(chain.source, chain.target, on_note=notes.append)
    assert not [note for note in notes if "licences" in note or "sbom" in note]
    copied = chain.target.aws.s3.get_object(Bucket=read_lock(chain.target.lock_path).model.bucket, Key=key)
    assert copied["Body"].read() == b"MIT"


def test_a_layer_goes_in_parts_of_the_size_that_ecr_asks_for(chain: SimpleNamespace, layers: Layers) -> None:
    """Of ten MiB, in moto as on AWS; moto refuses parts out of order and hashes what it got."""
    layer = b"0123456789abcdef" * (11 << 16)
    _, digest = push_image(chain.source.aws, layers, layer)
    source = EcrRepository(chain.source.aws.ecr, "registry/semif-tried")
    live = EcrRepository(chain.target.aws.ecr, "registry/semif-live")
    told: list[int] = []
    assert copy_image(source, live, digest, "large", lambda _, done, __: told.append(done))
    assert [now - before for before, now in pairwise(told)][-2:] == [10 << 20, len(layer) - (10 << 20)]
    there = chain.target.aws.ecr.batch_check_layer_availability(
        repositoryName="semif-live", layerDigests=[f"sha256:{sha256(layer)}"]
    )
    assert [found["layerSize"] for found in there["layers"]] == [len(layer)]


def test_both_images_of_a_pool_that_ends_in_cpus_are_elsewhere(
    chain: SimpleNamespace, layers: Layers
) -> None:
    pool = {"instance_type": None, "instance_pool": ["ml.g6.xlarge", "ml.c6i.large"]}
    for name in ("source", "target"):
        target = getattr(chain, name)
        endpoint = target.environment.endpoint.model_copy(update=pool)
        mixed = target.environment.model_copy(update={"endpoint": endpoint})
        setattr(chain, name, replace(target, environment=mixed))
    _, digest = push_image(chain.source.aws, layers, b"a layer of CUDA's")
    lock = read_lock(chain.source.lock_path)
    on_gpu = {"uri": ImageRef(lock.image.uri.repository, digest), "base": base_image("cuda")}
    images = {"image": lock.image.model_copy(update=on_gpu), "fallback_image": lock.image}
    write_lock(chain.source.lock_path, lock.model_copy(update=images))
    done = promote(chain.source, chain.target)
    repository = f"{ACCOUNT}.dkr.ecr.eu-central-1.amazonaws.com/semif-live"
    assert list(done.lock.image_uris.values()) == [f"{repository}@{digest}", f"{repository}@{chain.digest}"]
    assert done.image_copied
    assert all(image_in(chain.target.aws, imageDigest=one) for one in (digest, chain.digest))
    assert not promote(chain.source, chain.target).image_copied


def test_a_second_promotion_copies_nothing(chain: SimpleNamespace, layers: Layers) -> None:
    promote(chain.source, chain.target)
    layers.served.clear()
    before = chain.target.lock_path.stat().st_mtime_ns
    done = promote(chain.source, chain.target)
    assert (done.image_copied, done.model_copied, done.lock_changed) == (False, False, False)
    assert layers.served == []
    assert chain.target.lock_path.stat().st_mtime_ns == before


def test_a_promotion_that_broke_off_is_gone_on_with(chain: SimpleNamespace, layers: Layers) -> None:
    """No image and no lock before all layers are there; those that are there are not sent again."""
    *_, last = json.loads(chain.manifest)["layers"][:2]
    kept = layers.blobs.pop(last["digest"])
    with pytest.raises(SemifError, match=r"the layer sha256:\w+ cannot be read: HTTP 404") as caught:
        promote(chain.source, chain.target)
    assert "secret" not in str(caught.value)
    assert image_in(chain.target.aws, imageDigest=chain.digest) is None
    assert not chain.target.lock_path.exists()
    layers.blobs[last["digest"]] = kept
    layers.served.clear()
    promote(chain.source, chain.target)
    assert layers.served == [last["digest"]]


@pytest.mark.parametrize(
    "change", [lambda blob: blob[:-1] + b"!", lambda blob: blob[:-1], lambda blob: blob + b"!"]
)
def test_layers_with_other_bytes_make_no_image(
    chain: SimpleNamespace, layers: Layers, change: Callable[[bytes], bytes]
) -> None:
    last = json.loads(chain.manifest)["layers"][1]["digest"]
    layers.blobs[last] = change(layers.blobs[last])
    with pytest.raises(SemifError, match=f"the layer {last} .*; try again"):
        promote(chain.source, chain.target)
    assert image_in(chain.target.aws, imageDigest=chain.digest) is None
    assert not chain.target.lock_path.exists()


def test_another_image_under_the_tag_is_not_overwritten(chain: SimpleNamespace) -> None:
    tag = read_lock(chain.source.lock_path).image.tag
    other = chain.manifest.replace('"schemaVersion": 2', '"schemaVersion":  2')
    chain.target.aws.ecr.put_image(
        repositoryName="semif-live",
        imageManifest=other,
        imageManifestMediaType=DOCKER,
        imageTag=tag,
        imageDigest=f"sha256:{sha256(other.encode())}",
    )
    with pytest.raises(SemifError, match="it was filled by somebody else"):
        promote(chain.source, chain.target)
    assert not chain.target.lock_path.exists()


def test_an_archive_with_other_bytes_is_refused_and_removed(chain: SimpleNamespace) -> None:
    lock = read_lock(chain.source.lock_path)
    where = {"Bucket": lock.model.bucket, "Key": lock.model.key}
    metadata = chain.source.aws.s3.head_object(**where)["Metadata"]
    chain.source.aws.s3.put_object(**where, Body=ARCHIVE[:-1] + b"!", Metadata=metadata)
    with pytest.raises(SemifError, match=r"came back as .* with SHA-256 .*; the object is deleted again"):
        promote(chain.source, chain.target)
    with pytest.raises(ClientError, match="404"):
        chain.target.aws.s3.head_object(Bucket="semif-live-eu-central-1-models", Key=lock.model.key)
    assert not chain.target.lock_path.exists()


def test_what_does_not_fit_is_told_at_once_before_anything_is_copied(
    chain: SimpleNamespace, layers: Layers
) -> None:
    demo = chain.target.environment
    other = load_environment("text").model_copy(update={"name": "live"})
    for refused, said in (
        (other, ["kind", "model.preset", "the readout"]),
        (
            demo.model_copy(
                update={
                    "model": demo.model.model_copy(update={"format": "prefix"}),
                    "endpoint": demo.endpoint.model_copy(update={"instance_type": "ml.c7g.xlarge"}),
                    "adapter": demo.adapter.model_copy(update={"readout": "letters"}),
                }
            ),
            ["the accelerator", "model.format", "the readout"],
        ),
        (demo.model_copy(update={"name": "tried"}), ["tried is promoted to itself"]),
    ):
        with pytest.raises(ProblemsError) as caught:
            promote(chain.source, replace(chain.target, environment=refused))
        problems = caught.value.problems
        assert len(problems) == len(said)
        assert all(problem.startswith(start) for problem, start in zip(problems, said, strict=True))
    assert layers.served == []
    assert not chain.target.lock_path.exists()


def test_an_image_with_a_critical_finding_is_not_promoted(chain: SimpleNamespace) -> None:
    with (
        scanned(chain.target.aws, scan("COMPLETE", "CVE-2026-1111")),
        pytest.raises(SemifError, match=r"semif-live@.* has critical findings: CVE-2026-1111"),
    ):
        promote(chain.source, chain.target)
    assert not chain.target.lock_path.exists()


def test_without_its_artifacts_stack_nothing_is_promoted(chain: SimpleNamespace) -> None:
    chain.target.aws.cloudformation.delete_stack(StackName="Semif-live-Artifacts")
    with pytest.raises(
        SemifError, match=r"Semif-live-Artifacts is not deployed .*`semif promote tried live`"
    ):
        promote(chain.source, chain.target)


def test_what_is_promoted_on_names_where_it_was_built(
    chain: SimpleNamespace, tmp_path: Path, layers: Layers
) -> None:
    promote(chain.source, chain.target)
    stack_of(chain.source.aws, "last")
    last = replace(chain.source, environment=environment("last"), lock_path=tmp_path / "last.lock.json")
    with layer_urls(chain.target.aws, layers), scanned(last.aws, scan("COMPLETE")):
        lock = promote(chain.target, last).lock
    assert (lock.environment, lock.origin.environment, lock.region) == ("last", "tried", "us-east-1")
    assert isinstance(lock.image, BuiltImage)
    assert lock.image.uri.digest == chain.digest


def test_a_published_container_needs_no_copy(chain: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of kind text: the other region's registry must have it, and the archive goes over."""
    text = load_environment("text")
    manifest = load_preset(text.model.preset).manifest().sha256
    key = f"models/{manifest}/model.tar.gz"
    metadata = {CONTENT_METADATA: sha256(ARCHIVE), MANIFEST_METADATA: manifest}
    chain.source.aws.s3.put_object(
        Bucket="semif-tried-us-east-1-models", Key=key, Body=ARCHIVE, Metadata=metadata
    )
    tried, live = (text.model_copy(update={"name": name}) for name in ("tried", "live"))
    source, target = replace(chain.source, environment=tried), replace(chain.target, environment=live)
    base = base_image("cpu")
    content = json.loads(read_lock(source.lock_path).canonical_bytes()) | {"kind": "text"}
    registry = "763104351884.dkr.ecr.{}.amazonaws.com/llama-cpp"
    content["image"] = {"uri": f"{registry.format('us-east-1')}@{base.digest}", "base": str(base)}
    content["model"] |= {
        "preset": text.model.preset,
        "manifest_sha256": manifest,
        "s3_uri": f"s3://semif-tried-us-east-1-models/{key}",
    }
    write_lock(source.lock_path, Lock.model_validate(content))
    asked: list[Any] = []

    def look(aws: Aws, environment: Environment) -> tuple[str, ...]:
        asked.append((aws.region, environment.name))
        return ()

    monkeypatch.setattr(promotion, "published_image_problems", look)  # AWS's registry is not in moto
    done = promote(source, target)
    assert asked == [("eu-central-1", "live")]
    assert done.lock.image_uri == f"{registry.format('eu-central-1')}@{base.digest}"
    assert (done.image_copied, done.model_copied) == (False, True)


def test_an_old_lock_reads_as_it_was_and_a_reader_that_knows_no_promotion_refuses(
    chain: SimpleNamespace,
) -> None:
    built = chain.source.lock_path.read_bytes()
    assert b"built_in" not in built
    promoted = json.loads(promote(chain.source, chain.target).lock.canonical_bytes())
    assert promoted.keys() - json.loads(built).keys() == {"built_in"}  # which older ones name as unknown
    assert promoted["schema"] == 1


def test_the_command_refuses_what_it_cannot_open(monkeypatch: pytest.MonkeyPatch) -> None:
    outcome = CliRunner().invoke(main, ["promote", "demo", "nowhere", "--local", "--profile", "x"])
    assert outcome.exit_code == 1
    assert "leave one of them out" in outcome.output
