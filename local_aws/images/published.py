"""The published containers in AWS's own registries, as far as this machine knows them: by their digests.

BatchGetImage on another account's registry answers for the images that adapter_image/dlc.toml names, and for
no others. Their manifests are not here, so that an answer has none.
"""

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

from moto.ecr.exceptions import RepositoryNotFoundException
from moto.ecr.models import ECRBackend

_PINS = Path(__file__).parents[2] / "adapter_image" / "dlc.toml"


def know_published_images() -> None:
    """Let ECR answer for registries that are not the account's own; moto looks into the own one alone."""
    own_images = ECRBackend.batch_get_image

    def batch_get_image(
        self: ECRBackend,
        repository_name: str,
        registry_id: str | None = None,
        image_ids: list[dict[str, Any]] | None = None,
    ) -> dict[str, Any]:
        if registry_id in {None, self.account_id}:
            return own_images(self, repository_name, registry_id, image_ids)
        if repository_name not in _published():
            raise RepositoryNotFoundException(repository_name, registry_id)
        there = {"registryId": registry_id, "repositoryName": repository_name}
        found: dict[str, Any] = {"images": [], "failures": []}
        for image_id in image_ids or []:
            if image_id.get("imageDigest") in _published()[repository_name]:
                found["images"].append({**there, "imageId": image_id})
            else:
                reason = "Requested image not found"
                failure = {"imageId": image_id, "failureCode": "ImageNotFound", "failureReason": reason}
                found["failures"].append(failure)
        return found

    ECRBackend.batch_get_image = batch_get_image  # type: ignore[method-assign]


@cache
def _published() -> dict[str, set[str]]:
    """Digests by repository."""
    published: dict[str, set[str]] = {}
    for pin in tomllib.loads(_PINS.read_text(encoding="utf-8")).values():
        digests = published.setdefault(pin["repository"].rpartition("/")[2], set())
        digests |= {pin["digest"]} if "digest" in pin else set()
    return published
