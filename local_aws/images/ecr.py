"""The part of ECR that leads to the bytes of images: they lie in the registry beside moto."""

from local_aws.core.api import ApiError, Operation, Params
from local_aws.images.container_engine import ContainerEngine


class EcrLayers:
    """The operations of ECR that moto does not have, under botocore's names and shapes."""

    def __init__(self, engine: ContainerEngine) -> None:
        self._engine = engine

    def operations(self) -> dict[str, Operation]:
        """Every operation that is served here instead of in moto."""
        return {"GetDownloadUrlForLayer": self.get_download_url_for_layer}

    def get_download_url_for_layer(self, params: Params) -> Params:
        """Where a layer, or an image's configuration, can be fetched."""
        registry = self._engine.registry
        if registry is None:
            raise ApiError("LayersNotFoundException", "no image was built on this machine yet")
        name, digest = params["repositoryName"], params["layerDigest"]
        return {"layerDigest": digest, "downloadUrl": f"http://{registry}/v2/{name}/blobs/{digest}"}
