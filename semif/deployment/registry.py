"""SageMaker's Model Registry: what a lock pins, as a version of a model package group that somebody approves.

A package says image and model. Settings are not in it: they are reviewed as files. It is found again by what
it says, so that an approval is one of these bytes, whatever anybody wrote into a description.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, get_args

from botocore.exceptions import ClientError

from semif.aws.clients import aws_errors
from semif.environment.environment import Environment
from semif.environment.tables.registry import RegistryTable
from semif.errors import SemifError
from semif.lock.lock_file import BuiltImage, Lock, UnbuiltImage
from semif.lock.locked_model import ArchivedModel, HubModel
from semif.models.presets import Preset
from semif.target.target import Target
from semif_adapter.archive.prompt_version import prompt_version
from semif_adapter.contract.wire import Layout

if TYPE_CHECKING:
    from mypy_boto3_sagemaker import SageMakerClient
    from mypy_boto3_sagemaker.type_defs import (
        InferenceSpecificationOutputTypeDef,
        InferenceSpecificationTypeDef,
        ModelPackageContainerDefinitionTypeDef,
    )

APPROVED = "Approved"
WAITING = "PendingManualApproval"


@dataclass(frozen=True)
class Package:
    """A model package: a version in its group."""

    arn: str
    status: str
    """Approved, Rejected or PendingManualApproval."""


@dataclass(frozen=True)
class Registration:
    """What was registered; `created` is false where it was there."""

    package: Package
    created: bool


def register(target: Target) -> Registration:
    """Register what the target's lock pins, pending somebody's approval; nothing where that is done already.

    Raises SemifError where the environment has no `[registry]`, where there is nothing that a registry could
    hold, and as `Target.read_lock` does.
    """
    lock, registry = target.read_lock(), _registry(target.environment)
    if isinstance(lock.image, UnbuiltImage):
        raise SemifError(f"the image of {target.command_line} is not built here: there is none to register")
    client = target.aws.sagemaker
    with aws_errors():
        if not _has_group(client, registry.group):
            client.create_model_package_group(ModelPackageGroupName=registry.group)
        elif found := _find(client, registry.group, lock):
            return Registration(found, created=False)
        made = client.create_model_package(
            ModelPackageGroupName=registry.group,
            ModelPackageDescription=f"{lock.model.name}, kind {lock.kind}, of {lock.origin.environment}",
            InferenceSpecification=_specification(lock),
            ModelApprovalStatus="PendingManualApproval",
            CustomerMetadataProperties=dict(_metadata(lock, target.environment)),
        )
    return Registration(Package(made["ModelPackageArn"], WAITING), created=True)


def require_approval(target: Target, lock: Lock) -> None:
    """Raise SemifError unless `lock` may be deployed: `[registry]` does not ask, or somebody approved it.

    The AWS on this machine has nobody who approves, and is not asked.
    """
    registry = target.environment.registry
    if registry is None or not registry.require_approval or target.local:
        return
    client = target.aws.sagemaker
    with aws_errors():
        found = _find(client, registry.group, lock) if _has_group(client, registry.group) else None
    if found is None:
        raise SemifError(
            f"[registry] requires an approval, and the image and the model of {target.command_line} are not "
            f"registered in {registry.group}; run `semif model register {target.environment.name}`, have "
            "the package approved, and deploy again"
        )
    if found.status != APPROVED:
        raise SemifError(
            f"[registry] requires an approval, and {found.arn} is {found.status}; have it approved, and "
            "deploy again"
        )


def _registry(environment: Environment) -> RegistryTable:
    if environment.registry is None:
        raise SemifError(
            f'{environment.name} has no [registry]; add it with group = "NAME" to its file, or leave '
            "registering out"
        )
    return environment.registry


def _has_group(client: "SageMakerClient", group: str) -> bool:
    try:
        client.describe_model_package_group(ModelPackageGroupName=group)
    except ClientError as error:
        if "does not exist" in error.response.get("Error", {}).get("Message", ""):
            return False
        raise
    return True


def _find(client: "SageMakerClient", group: str, lock: Lock) -> Package | None:
    """The newest version that holds exactly what `lock` pins."""
    pages = client.get_paginator("list_model_packages").paginate(
        ModelPackageGroupName=group,
        ModelPackageType="Versioned",  # the default lists others alone
        SortBy="CreationTime",
        SortOrder="Descending",
    )
    for page in pages:
        for summary in page["ModelPackageSummaryList"]:
            arn = summary["ModelPackageArn"]
            package = client.describe_model_package(ModelPackageName=arn)
            if _holds(package.get("InferenceSpecification"), lock):
                return Package(arn, package.get("ModelApprovalStatus", WAITING))
    return None


def _holds(specification: "InferenceSpecificationOutputTypeDef | None", lock: Lock) -> bool:
    containers = specification["Containers"] if specification is not None else []
    if len(containers) != 1:
        return False
    (container,) = containers
    source = container.get("ModelDataSource", {}).get("S3DataSource")
    data = source["S3Uri"] if source is not None else container.get("ModelDataUrl")
    return (container.get("Image"), data) == (lock.image_uri, lock.model.address)


def _specification(lock: Lock) -> "InferenceSpecificationTypeDef":
    return {
        "Containers": [_container(lock)],
        "SupportedContentTypes": ["application/json"],
        "SupportedResponseMIMETypes": ["application/json"],
    }


def _container(lock: Lock) -> "ModelPackageContainerDefinitionTypeDef":
    """The one container: the image by its digest, the model where the endpoint has it from."""
    if isinstance(lock.model, ArchivedModel):
        return {"Image": lock.image_uri, "ModelDataUrl": lock.model.address}
    return {
        "Image": lock.image_uri,
        "ModelDataSource": {
            "S3DataSource": {
                "S3Uri": lock.model.address,
                "S3DataType": "S3Prefix",
                "CompressionType": "None",
            }
        },
    }


def _metadata(lock: Lock, environment: Environment) -> Iterator[tuple[str, str]]:
    """What a reviewer compares with the files: hashes, and what `prompt_version` of the answers will be."""
    yield "semif:environment", lock.environment
    yield "semif:built-in", f"{lock.origin.environment} {lock.origin.account} {lock.origin.region}"
    if isinstance(lock.image, BuiltImage):
        yield "semif:image-source-sha256", lock.image.source_sha256
    if not isinstance(lock.model, HubModel):
        yield "semif:preset", lock.model.preset
        yield "semif:manifest-sha256", lock.model.manifest_sha256
    if isinstance(lock.model, ArchivedModel):
        yield "semif:archive-sha256", lock.model.archive_sha256
    if versions := _prompt_versions(environment):
        yield "semif:prompt-version", " ".join(versions)


def _prompt_versions(environment: Environment) -> list[str]:
    """One for each layout that answers may have; none of a container that is not ours."""
    preset = environment.preset
    if not isinstance(preset, Preset) or not environment.serving_kind.runs_adapter:
        return []
    prompt, asked = preset.prompt, environment.adapter
    if prompt.head is not None:
        return [prompt_version(prompt.head, "head", "state-first")]
    layouts: tuple[Layout, ...] = (asked.layout,) if asked.layout else get_args(Layout)
    template, readout = asked.template or prompt.template, asked.readout or prompt.readout
    return sorted({prompt_version(template, readout, layout) for layout in layouts})
