"""What is still needed: by the locks of this project, and by what SageMaker has in the account and region."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

from semif.aws.clients import Aws, aws_errors
from semif.errors import SemifError
from semif.lock.lock_file import BuiltImage, Lock, UnbuiltImage, read_lock
from semif.lock.locked_model import HubModel
from semif.target.endpoint_state import describe_endpoint, is_gone, model_data_of

if TYPE_CHECKING:
    from mypy_boto3_sagemaker.type_defs import DescribeEndpointOutputTypeDef

_LOCKS = "*.lock.json"
"""The present locks, and the previous ones of a rollback."""
_RUNS_NOTHING = {"Failed", "Deleting"}
_DIGEST = re.compile(r"@sha256:([0-9a-f]{64})$")


@dataclass(frozen=True)
class Named:
    """What is named, and by whom: content by its SHA-256 wherever it lies, and addresses."""

    hashes: dict[str, str] = field(default_factory=dict)
    """Of images (their digests), models (their manifests) and sources; who names them."""
    addresses: dict[str, str] = field(default_factory=dict)
    """Of images, archives and prefixes; who names them."""

    def by(self, sha256: str, *addresses: str) -> str | None:
        """Who names the content of this hash, or something at one of its addresses; None: nobody does.

        An address that ends in a slash is a folder: it is named by what names something in it, or a folder
        that holds it.
        """
        if (who := self.hashes.get(sha256)) is not None:
            return who
        for named, who in self.addresses.items():
            if any(_overlap(named, address) for address in addresses):
                return who
        return None


def find_named(aws: Aws, locks: Path) -> Named:
    """What the locks in the folder `locks` name, whatever their environment, and what SageMaker has.

    Another environment's lock counts too: what was promoted lies in both places. Raises SemifError for a lock
    that cannot be read, and for an endpoint of which SageMaker no longer knows what it runs.
    """
    named = Named()
    for path in sorted(locks.glob(_LOCKS)):
        lock = read_lock(path)
        named.hashes.update(dict.fromkeys(_hashes(lock), path.name))
    with aws_errors():
        models = _note_models(named, aws)
        _note_endpoints(named, aws, models)
    return named


def _hashes(lock: Lock) -> Iterator[str]:
    for image in lock.images.values():
        if isinstance(image, BuiltImage):
            yield image.uri.digest.removeprefix("sha256:")
        if isinstance(image, BuiltImage | UnbuiltImage):
            yield image.source_sha256
    if not isinstance(lock.model, HubModel):
        yield lock.model.manifest_sha256


def _note_models(named: Named, aws: Aws) -> set[str]:
    """Every Model of the account and region, whoever made it. Returns their names."""
    pages = aws.sagemaker.get_paginator("list_models").paginate()
    names = {model["ModelName"] for page in pages for model in page["Models"]}
    for name in names:
        try:
            model = aws.sagemaker.describe_model(ModelName=name)
        except ClientError as error:
            if is_gone(error):  # since it was listed
                continue
            raise
        containers = [*model.get("Containers", []), *filter(None, [model.get("PrimaryContainer")])]
        for container in containers:
            _note(named, [container.get("Image", ""), model_data_of(container)], f"the Model {name}")
    return names


def _note_endpoints(named: Named, aws: Aws, models: set[str]) -> None:
    """The images of every endpoint, and that the Models of all of them are known."""
    pages = aws.sagemaker.get_paginator("list_endpoints").paginate()
    listed = [endpoint for page in pages for endpoint in page["Endpoints"]]
    for name in (one["EndpointName"] for one in listed if one["EndpointStatus"] not in _RUNS_NOTHING):
        endpoint = describe_endpoint(aws, name)
        if endpoint is None:
            continue
        _note(named, _deployed_images(endpoint), f"the endpoint {name}")
        if not _models_of(aws, endpoint) <= models:
            raise SemifError(
                f"the endpoint {name} runs what a deleted Model said: its archive cannot be told from what "
                "nobody needs; deploy the endpoint again, or delete it, then prune"
            )


def _models_of(aws: Aws, endpoint: "DescribeEndpointOutputTypeDef") -> set[str]:
    try:
        config = aws.sagemaker.describe_endpoint_config(EndpointConfigName=endpoint["EndpointConfigName"])
    except ClientError as error:
        if is_gone(error):
            return {"its configuration was deleted"}  # the name of no Model
        raise
    variants = [*config["ProductionVariants"], *config.get("ShadowProductionVariants", [])]
    return {variant["ModelName"] for variant in variants if "ModelName" in variant}


def _deployed_images(endpoint: "DescribeEndpointOutputTypeDef") -> list[str]:
    variants = [*endpoint.get("ProductionVariants", []), *endpoint.get("ShadowProductionVariants", [])]
    images = [image for variant in variants for image in variant.get("DeployedImages", [])]
    return [
        name for image in images for name in (image.get("SpecifiedImage", ""), image.get("ResolvedImage", ""))
    ]


def _note(named: Named, addresses: Sequence[str], who: str) -> None:
    for address in filter(None, addresses):
        named.addresses.setdefault(address, who)
        if digest := _DIGEST.search(address):
            named.hashes.setdefault(digest[1], who)


def _overlap(one: str, other: str) -> bool:
    """Whether two addresses are the same, or one is a folder that holds the other."""
    return one == other or any(
        folder.endswith("/") and inside.startswith(folder) for folder, inside in ((one, other), (other, one))
    )
