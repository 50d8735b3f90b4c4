"""`[builds]`: where the builds run, and what they take things from that others take from the internet."""

import re
from collections.abc import Iterator, Mapping
from typing import Annotated

from pydantic import AfterValidator, Field, WithJsonSchema

from semif.environment.tables.endpoint import FileTable
from semif.environment.tables.raw import RawTables, table_in
from semif.environment.tables.values import EachOnce, SecurityGroupId, SubnetId, VpcId
from semif.errors import shown
from semif.images.regional_images import private_repository

_URL = "https://[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?(:[0-9]{1,5})?(/[A-Za-z0-9._~-]+)*/?"
_NETWORK = ("vpc_id", "subnet_ids", "security_group_ids")


def _mirror_url(text: str) -> str:
    if not re.fullmatch(_URL, text):
        # Not the value itself: a password may be in it.
        raise ValueError(
            "must be https://HOST, maybe with a port and a path: over http anybody on the way could answer, "
            "and a password or a query would stand in the template, for all to read"
        )
    return text


def _private_repository(text: str) -> str:
    if private_repository(text) is None:
        raise ValueError(
            f"{shown(text)} must be a repository of a private ECR registry, without a tag or digest: "
            "ACCOUNT.dkr.ecr.REGION.amazonaws.com/NAME"
        )
    return text


MirrorUrl = Annotated[
    str, AfterValidator(_mirror_url), WithJsonSchema({"type": "string", "pattern": f"^{_URL}$"})
]
PrivateRepository = Annotated[
    str,
    AfterValidator(_private_repository),
    WithJsonSchema(
        {"type": "string", "pattern": "^[0-9]{12}\\.dkr\\.ecr\\.[a-z0-9-]+\\.[a-z.]+/[a-z0-9._/-]+$"}
    ),
]


class BuildsTable(FileTable):
    """`[builds]`: builds behind a wall, in a VPC and from mirrors. Without it they use the internet."""

    vpc_id: VpcId | None = None
    """An existing VPC for the builds' network interfaces; goes with subnets and security groups."""
    subnet_ids: Annotated[list[SubnetId], Field(default_factory=list, max_length=16), *EachOnce]
    """Private ones, with a way to S3, CloudWatch Logs, ECR and the mirrors."""
    security_group_ids: Annotated[list[SecurityGroupId], Field(default_factory=list, max_length=5), *EachOnce]
    """Up to five, which let HTTPS out; nothing has to come in."""
    python_index: MirrorUrl | None = None
    """A Python package index in place of PyPI, such as https://HOST/simple, that asks for no password."""
    model_hub: MirrorUrl | None = None
    """A mirror of the Hugging Face hub in place of huggingface.co."""
    base_repository: PrivateRepository | None = None
    """A private ECR repository that has the base image under its pinned digest; kind decision only."""


def builds_warnings(table: BuildsTable, region: str) -> Iterator[str]:
    """What builds in a VPC of `region` may not reach."""
    found = private_repository(table.base_repository) if table.base_repository is not None else None
    if found is None or table.vpc_id is None or found[1] == region:
        return
    # No problem: a VPC may have an interface endpoint to ECR of another region (AWS's PrivateLink guide,
    # "Cross-region enabled AWS services", read 2026-11-30), or a NAT.
    yield (
        f"builds.base_repository: it is in {found[1]} and the builds' VPC in {region}, whose endpoints to "
        f"ECR and S3 are usually {region}'s alone; replicate the repository to {region}, or see that the "
        f"subnets reach ECR and S3 of {found[1]}"
    )


def builds_problems(tables: RawTables, *, builds_image: bool | None) -> Iterator[str]:
    """What of the raw [builds] is for builds that there are not, or lacks its other half.

    `builds_image` says whether the environment's kind has an image to build, None where that is not known.
    """
    if not isinstance(tables.get("builds"), Mapping):
        return
    table = table_in(tables, "builds")
    if "hf_repo" in table_in(tables, "model"):
        yield "[builds] does not go with model.hf_repo: nothing is built, the container downloads; remove it"
        return
    missing = [key for key in _NETWORK if not table.get(key)]
    if 0 < len(missing) < len(_NETWORK):
        yield f"builds: {' and '.join(missing)} missing; {', '.join(_NETWORK)} go together"
    if "base_repository" in table and builds_image is False:
        yield (
            "builds.base_repository goes with kind = 'decision' only: a published container comes from AWS's "
            "registry of the region, and no image is built; remove it"
        )
