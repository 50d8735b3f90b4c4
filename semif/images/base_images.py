"""`adapter_image/dlc.toml`: the published containers of llama.cpp, which our image extends, and another."""

from datetime import date
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from semif.errors import SemifError
from semif.images.image_ref import ImageRef
from semif.project.root import project_root
from semif.project.toml_file import read_toml
from semif.sagemaker.instances import Accelerator
from semif.sagemaker.placement import CUDA_MAJOR
from semif_adapter.archive.decision_head import FIRST_RELEASE, IN_LIBRARY, knows_heads

Tag = Annotated[str, Field(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$")]


class BaseImage(BaseModel):
    """Where a container is published and, once somebody has looked, which one is meant."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    repository: str
    tag: Tag
    """Where the digest was found. Tags move, so nothing is ever pulled by it."""
    digest: str | None = None
    resolved_on: date | None = None
    """The day on which `tag` meant `digest`."""
    llama_cpp_build: Annotated[str, Field(pattern=r"^(b[0-9]+|v[0-9]+(\.[0-9]+){1,3})$")] | None = None
    """llama.cpp's own name of it: a build (`b10964`), or a release (`v0.4.1`), which AWS follows since
    2026-09-25."""
    cuda_major: Annotated[int, Field(ge=11, le=99)] | None = None
    """CUDA's major version, where the container has CUDA: the host's driver must fit it."""

    @model_validator(mode="after")
    def _is_an_image(self) -> "BaseImage":
        if self.digest is not None:
            ImageRef.parse(f"{self.repository}@{self.digest}")
        return self


class BaseImages(BaseModel):
    """One llama.cpp container for each accelerator, and the one for Strands Decider."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    cpu: BaseImage
    cuda: BaseImage
    decider: BaseImage
    graviton: BaseImage


Container = Accelerator | Literal["decider"]
"""A table of dlc.toml."""
PIN_NAMES: dict[str, Container] = {"cpu": "cpu", "cuda": "cuda", "arm64": "graviton", "decider": "decider"}
"""How `semif image pin` calls the containers."""
CUDA_MAJORS: dict[Container, tuple[int, ...]] = {
    "cuda": (CUDA_MAJOR,),
    "decider": (CUDA_MAJOR - 1, CUDA_MAJOR),
}
"""What the driver of the known host images runs: that for CUDA 13 runs PyTorch for CUDA 12 too, on g4dn, g5
and g6 (strands-labs/strands-decider, deployment.md at 523ae576, read on 2026-11-30)."""


def base_images_file() -> Path:
    """The project's dlc.toml."""
    return project_root() / "adapter_image" / "dlc.toml"


def base_image(container: Container, path: Path | None = None) -> ImageRef:
    """The published container, from the project's dlc.toml or the one at `path`.

    Raises ProblemsError for a file with problems and SemifError where no digest is pinned for
    `container`, or a CUDA that no known host image has a driver for.
    """
    path, image = _pinned(container, path)
    if image.digest is None:
        raise SemifError(f"{path} pins no digest for {container}; run `{pin_command(container)}`")
    if container in CUDA_MAJORS and image.cuda_major not in CUDA_MAJORS[container]:
        raise SemifError(
            f"{path}: {container}.cuda_major = {image.cuda_major}, the known host images have drivers for "
            f"CUDA {CUDA_MAJOR}; pin a base for that, or add the host images of another to "
            "semif/sagemaker/placement.py"
        )
    return ImageRef(image.repository, image.digest)


def check_knows_head(accelerator: Accelerator, head: str, path: Path | None = None) -> None:
    """Raise SemifError unless the container's llama.cpp is known to have decision heads like `head`.

    The newest published container that is known has v0.4.1, b10964 (AWS's changelog, read on 2026-11-30).
    """
    path, image = _pinned(accelerator, path)
    if head not in IN_LIBRARY or knows_heads(image.llama_cpp_build):
        return
    has = f"has llama.cpp {image.llama_cpp_build}" if image.llama_cpp_build else "names no llama_cpp_build"
    raise SemifError(
        f"{path}: the container for {accelerator} {has}, a model with the decision head {head!r} needs "
        f"{FIRST_RELEASE} or newer; run `{pin_command(accelerator)} --heads`, or write "
        "llama_cpp_build where the image has a newer one and does not say so"
    )


def _pinned(container: Container, path: Path | None) -> tuple[Path, BaseImage]:
    path = path or base_images_file()
    return path, getattr(read_toml(path, BaseImages), container)


def pin_command(container: Container) -> str:
    """The command that pins it."""
    return f"semif image pin {next(name for name, pinned in PIN_NAMES.items() if pinned == container)}"
