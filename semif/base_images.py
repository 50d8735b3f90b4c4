"""`adapter_image/dlc.toml`: the published llama.cpp containers that the adapter's image extends."""

from pydantic import BaseModel, ConfigDict

from semif.errors import SemifError
from semif.instances import Accelerator
from semif.pins import ImageRef
from semif.project import project_root
from semif.toml_file import read_toml


class BaseImages(BaseModel):
    """One pinned image for each accelerator, as far as there is one."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    cpu: ImageRef
    cuda: ImageRef
    graviton: ImageRef | None = None


def base_image(accelerator: Accelerator) -> ImageRef:
    """The container to extend for `accelerator`. Raises SemifError where dlc.toml has none."""
    path = project_root() / "adapter_image" / "dlc.toml"
    image: ImageRef | None = getattr(read_toml(path, BaseImages), accelerator)
    if image is None:
        raise SemifError(f'{path} pins no image for {accelerator}; add {accelerator} = "repository@sha256:…"')
    return image
