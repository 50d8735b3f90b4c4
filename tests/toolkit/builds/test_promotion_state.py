"""What a promotion left in AWS: proven before a lock names it."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from botocore.exceptions import ClientError

from semif.aws.clients import Aws
from semif.builds.promotion import promote
from semif.errors import SemifError
from semif.lock.lock_file import read_lock
from semif.rights.place import Place
from semif.rights.policies import policy
from tests.support.promotion import ACCOUNT, ARCHIVE


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
