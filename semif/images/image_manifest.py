"""The manifest of an image, as far as its layers are concerned."""

from typing import Annotated

from pydantic import BaseModel, Field

from semif.images.registry import Digest


class Blob(BaseModel):
    """A layer, or the configuration: its digest, and its size in bytes as it is stored."""

    digest: Digest
    size: Annotated[int, Field(ge=1)]


class ImageManifest(BaseModel):
    """An image for one platform."""

    config: Blob
    layers: Annotated[list[Blob], Field(min_length=1)]

    @property
    def blobs(self) -> list[Blob]:
        """The configuration and the layers, each once."""
        return list({blob.digest: blob for blob in (self.config, *self.layers)}.values())
