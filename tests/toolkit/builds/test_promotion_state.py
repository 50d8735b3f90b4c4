"""What a promotion left in AWS: proven before a lock names it, and still there when it is deployed."""

import json
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from botocore.exceptions import ClientError

from semif.aws.clients import Aws
from semif.aws.stacks import empty_bucket
from semif.builds.promotion import promote, promoted_lock
from semif.errors import SemifError
from semif.lock.lock_file import Lock, read_lock, write_lock
from semif.rights.place import Place
from semif.rights.policies import policy
from tests.support.promotion import ACCOUNT, ARCHIVE, stack_of


def end_downloads(aws: Aws) -> Callable[[], None]:
    """As where credentials end, or a right is missing; the function that is returned ends that."""

    def refuse(**_: object) -> None:
        raise ClientError({"Error": {"Code": "AccessDenied", "Message": "no"}}, "GetObject")

    aws.s3.meta.events.register("before-call.s3.GetObject", refuse)
    return lambda: aws.s3.meta.events.unregister("before-call.s3.GetObject", refuse)


def test_what_was_never_read_back_is_before_a_lock_names_it(chain: SimpleNamespace) -> None:
    steps: list[str] = []
    again = end_downloads(chain.target.aws)
    with pytest.raises(SemifError, match="do not allow GetObject"):
        promote(chain.source, chain.target)
    again()
    assert not chain.target.lock_path.exists()
    promote(chain.source, chain.target, lambda step, *_: steps.append(step))
    assert "read back" in steps
    assert chain.target.lock_path.exists()
    steps.clear()
    assert not promote(chain.source, chain.target, lambda step, *_: steps.append(step)).model_copied
    assert "read back" not in steps


def test_a_wrong_archive_of_a_promotion_that_broke_off_is_refused_and_removed(chain: SimpleNamespace) -> None:
    key = read_lock(chain.source.lock_path).model.key
    where = {"Bucket": "semif-live-eu-central-1-models", "Key": key}
    again = end_downloads(chain.target.aws)
    with pytest.raises(SemifError, match="do not allow GetObject"):
        promote(chain.source, chain.target)
    again()
    metadata = chain.target.aws.s3.head_object(**where)["Metadata"]
    chain.target.aws.s3.delete_object(**where)
    chain.target.aws.s3.put_object(**where, Body=ARCHIVE[:-1] + b"!", Metadata=metadata)
    with pytest.raises(SemifError, match=r"came back as .* with SHA-256 .*; the object is deleted again"):
        promote(chain.source, chain.target)
    assert not chain.target.lock_path.exists()
    assert promote(chain.source, chain.target).model_copied


def test_a_promotion_takes_no_other_rights_in_s3_than_deploying_has(chain: SimpleNamespace) -> None:
    """GetObject and DeleteObject of one version are rights of their own; copies take those of both ends."""
    asked: set[str] = set()

    def note(params: dict[str, Any], model: Any, **_: object) -> None:
        version = "Version" if "VersionId" in params else ""
        asked.update(
            {
                "HeadObject": {f"s3:GetObject{version}"},
                "HeadBucket": {"s3:ListBucket"},
                "GetObject": {f"s3:GetObject{version}"},
                "CopyObject": {"s3:GetObject", "s3:PutObject"},
                "DeleteObject": {f"s3:DeleteObject{version}"},
            }.get(model.name, {f"s3:{model.name}"})
        )

    clients = [one.aws.s3 for one in (chain.source, chain.target)]
    for client in clients:
        client.meta.events.register("before-parameter-build.s3", note)
    try:
        promote(chain.source, chain.target)
        key = read_lock(chain.target.lock_path).model.key
        where = {"Bucket": "semif-live-eu-central-1-models", "Key": key}
        metadata = chain.target.aws.s3.head_object(**where)["Metadata"]
        chain.target.aws.s3.put_object(**where, Body=b"other bytes", Metadata=metadata)
        with pytest.raises(SemifError, match="is deleted again"):
            promote(chain.source, chain.target)
    finally:
        for client in clients:
            client.meta.events.unregister("before-parameter-build.s3", note)
    document = policy(Place(chain.target.environment, ACCOUNT, "eu-central-1"), "deploy")
    allowed = {action for statement in document["Statement"] for action in statement["Action"]}
    assert {"s3:GetObjectVersion", "s3:DeleteObjectVersion"} <= asked <= allowed


def test_after_a_destroy_and_a_deployment_the_promotion_is_asked_for_again(chain: SimpleNamespace) -> None:
    """Bucket and repository went with the stack; the new one has others, into which it promotes anew."""
    aws = chain.target.aws
    lock = promote(chain.source, chain.target).lock
    assert promoted_lock(chain.target) == lock
    empty_bucket(aws.s3, lock.model.bucket)
    aws.ecr.batch_delete_image(repositoryName="semif-live", imageIds=[{"imageDigest": chain.digest}])
    aws.cloudformation.delete_stack(StackName="Semif-live-Artifacts")
    stack_of(aws, "live", "-anew")
    with pytest.raises(SemifError) as caught:
        promoted_lock(chain.target)
    assert f"pins what is there no longer: {lock.image_uri}, {lock.model.s3_uri}" in str(caught.value)
    assert "run `semif promote tried live`" in str(caught.value)
    anew = promote(chain.source, chain.target).lock
    assert promoted_lock(chain.target) == anew != lock


@pytest.mark.parametrize("model_format", ["tar.gz", "prefix"])
def test_a_promoted_lock_whose_model_was_deleted_is_not_deployed(
    chain: SimpleNamespace, model_format: str
) -> None:
    lock = promote(chain.source, chain.target).lock
    s3, bucket, key = chain.target.aws.s3, lock.model.bucket, lock.model.key
    if model_format == "prefix":
        key = key.replace("model.tar.gz", "files/model-manifest.json")
        s3.put_object(Bucket=bucket, Key=key, Body=b"of all files the last to be written")
        lock = with_files(chain, lock)
    assert promoted_lock(chain.target) == lock
    s3.delete_object(Bucket=bucket, Key=key)
    with pytest.raises(SemifError, match=f"is there no longer: {lock.model.s3_uri}; run"):
        promoted_lock(chain.target)


def with_files(chain: SimpleNamespace, lock: Lock) -> Lock:
    """The lock of the files that lie where the archive would, also on disk, and the environment so."""
    content = json.loads(lock.canonical_bytes())
    del content["model"]["archive_sha256"]
    place = lock.model.s3_uri.replace("model.tar.gz", "files/")
    content["model"] |= {"format": "prefix", "s3_uri": place}
    changed = Lock.model_validate(content)
    write_lock(chain.target.lock_path, changed)
    live = chain.target.environment
    model = live.model.model_copy(update={"format": "prefix"})
    chain.target = replace(chain.target, environment=live.model_copy(update={"model": model}))
    return changed


def test_a_promoted_lock_whose_image_was_deleted_is_not_deployed(chain: SimpleNamespace) -> None:
    lock = promote(chain.source, chain.target).lock
    chain.target.aws.ecr.batch_delete_image(
        repositoryName="semif-live", imageIds=[{"imageDigest": chain.digest}]
    )
    with pytest.raises(SemifError, match=f"is there no longer: {lock.image_uri}; run"):
        promoted_lock(chain.target)
