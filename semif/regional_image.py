"""The published container where a SageMaker Model can pull it: AWS's private registry of the region."""

from semif.base_images import base_image
from semif.errors import SemifError
from semif.instances import Accelerator
from semif.pins import ImageRef

_VERSION = "1"
_INSTANCE_TYPE: dict[Accelerator, str] = {
    "cpu": "ml.c5.large",
    "cuda": "ml.g5.xlarge",
    # The SDK knows Graviton families for other frameworks only. The registry depends on the region alone.
    "graviton": "ml.c5.large",
}


def regional_image(accelerator: Accelerator, region: str) -> ImageRef:
    """The container that adapter_image/dlc.toml pins for `accelerator`, in the registry of `region`.

    sagemaker-core knows the registry's account and host; the digest is dlc.toml's. That digest was found in
    the public registry and is taken to name the same image here: a digest is the hash of the manifest's
    bytes, so either the same image answers to it or none does, and then the Model cannot be created.

    Raises SemifError as `base_image` and `regional_repository`.
    """
    base = base_image(accelerator)
    return ImageRef(regional_repository(base.repository, accelerator, region), base.digest)


def regional_repository(published: str, accelerator: Accelerator, region: str) -> str:
    """Where the container of the public repository `published` lies in `region`: `HOST/NAME`.

    Raises SemifError where it is not published in `region`, or sagemaker-core is not installed.
    """
    name = published.rpartition("/")[2]
    try:
        from sagemaker.core import image_uris  # noqa: PLC0415 - takes a second, and only text needs it
    except ImportError:
        raise SemifError(
            "sagemaker-core is not installed; run `make setup`, or install semif[deploy]"
        ) from None
    try:
        tagged: str = image_uris.retrieve(
            name, region, version=_VERSION, instance_type=_INSTANCE_TYPE[accelerator], image_scope="inference"
        )
    except (OSError, ValueError) as error:  # the SDK's messages name what it knows
        reason = " ".join(str(error).split())
        raise SemifError(f"{name} has no known registry in {region}: {reason}") from None
    return tagged.partition(":")[0]
