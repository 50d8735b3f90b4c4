"""The published container where a SageMaker Model can pull it: AWS's private registry of the region."""

import csv
import re
from functools import cache
from importlib.resources import files

from semif.errors import SemifError, shown
from semif.images.base_images import Container, base_image
from semif.images.image_ref import ImageRef

_WITHOUT_PUBLIC_REGISTRY = ("cn-", "eusc-", "us-gov-", "us-iso", "eu-iso")
"""What the regions of partitions other than `aws` begin with. ECR Public gives its tokens in us-east-1, to
accounts of that partition alone ("not available in China Regions", docs.amazonaws.cn, aws/latest/userguide/
ecr-public, read 2026-11-30; for the others it is concluded from the partition)."""

_PRIVATE_ECR = re.compile(
    r"(?P<registry>(?P<account>[0-9]{12})\.dkr\.ecr\.(?P<region>[a-z0-9-]+)\.[a-z.]+)"
    r"/(?P<name>[a-z0-9]+(?:[._/-][a-z0-9]+)*)"
)


def build_base(container: Container, region: str | None, *, mirror: str | None = None) -> ImageRef:
    """The container that an image build in `region` extends; None: in a region of the partition `aws`.

    It is public, but where no build can log in to the public registry: there it is the same digest in the
    region's own registry. In either place `mirror` comes first, a repository that has the same digest.
    Raises SemifError as `regional_image`.
    """
    if mirror is not None:
        return ImageRef(mirror, base_image(container).digest)
    if region is None or reaches_public_registry(region):
        return base_image(container)
    return regional_image(container, region)


def reaches_public_registry(region: str) -> bool:
    """Whether an account in `region` can log in to public.ecr.aws."""
    return not region.startswith(_WITHOUT_PUBLIC_REGISTRY)


def regional_image(container: Container, region: str) -> ImageRef:
    """The container that adapter_image/dlc.toml pins, in the registry of `region`.

    The digest is dlc.toml's. It was found in the public registry and is taken to name the same image here: a
    digest is the hash of the manifest's bytes, so either the same image answers to it or none does, and then
    the Model cannot be created.

    Raises SemifError as `base_image` and `regional_repository`.
    """
    base = base_image(container)
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


def private_repository(repository: str) -> tuple[str, str, str] | None:
    """Account, region and name of a repository in a private ECR registry; None for any other."""
    match = _PRIVATE_ECR.fullmatch(repository)
    if match is None or match["registry"] != registry_of(match["account"], match["region"]):
        return None
    return match["account"], match["region"], match["name"]


@cache
def registries() -> dict[str, str]:
    """Region to the host of its registry, from the table `dlc_registries.csv`, which names its source."""
    text = (files("semif.images") / "dlc_registries.csv").read_text(encoding="utf-8")
    rows = csv.DictReader(line for line in text.splitlines() if not line.startswith("#"))
    return {row["region"]: row["registry"] for row in rows}
