"""The published container where a SageMaker Model can pull it: AWS's private registry of the region."""

import csv
from functools import cache
from importlib.resources import files

from semif.errors import SemifError, shown
from semif.images.base_images import base_image
from semif.images.image_ref import ImageRef
from semif.sagemaker.instances import Accelerator


def regional_image(accelerator: Accelerator, region: str) -> ImageRef:
    """The container that adapter_image/dlc.toml pins for `accelerator`, in the registry of `region`.

    The digest is dlc.toml's. It was found in the public registry and is taken to name the same image here: a
    digest is the hash of the manifest's bytes, so either the same image answers to it or none does, and then
    the Model cannot be created.

    Raises SemifError as `base_image` and `regional_repository`.
    """
    base = base_image(accelerator)
    return ImageRef(regional_repository(base.repository, region), base.digest)


def regional_repository(published: str, region: str) -> str:
    """Where the container of the public repository `published` lies in `region`: `HOST/NAME`.

    Raises SemifError where it is not published in `region`.
    """
    name = published.rpartition("/")[2]
    registry = registries().get(region)
    if registry is None:
        raise SemifError(
            f"{name} has no known registry in {shown(region)}, known are {', '.join(registries())}"
        )
    return f"{registry}/{name}"


def registry_of(account: str, region: str) -> str:
    """Host of an account's private ECR registry in a region, under the domain that AWS's own has there."""
    known = registries().get(region)
    return f"{account}.{known.partition('.')[2]}" if known else f"{account}.dkr.ecr.{region}.amazonaws.com"


@cache
def registries() -> dict[str, str]:
    """Region to the host of its registry, from the table `dlc_registries.csv`, which names its source."""
    text = (files("semif.images") / "dlc_registries.csv").read_text(encoding="utf-8")
    rows = csv.DictReader(line for line in text.splitlines() if not line.startswith("#"))
    return {row["region"]: row["registry"] for row in rows}
