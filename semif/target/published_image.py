"""Whether the published container is where an environment that runs it unchanged takes it from."""

from botocore.exceptions import ClientError

from semif.aws.clients import Aws
from semif.environment.environment import Environment
from semif.images.base_images import pin_command
from semif.images.regional_images import regional_image

_NOT_THERE = {"RepositoryNotFoundException", "ImageNotFoundException"}


def published_image_problems(aws: Aws, environment: Environment) -> tuple[str, ...]:
    """A line for each container that the registry of the region does not have under the pinned digest.

    None for other kinds. The digest was found in the public registry. That the regional ones have the same
    manifest, byte for byte, is taken for granted nowhere in AWS's documents: an index that is added for lazy
    loading (SOCI), or a build of their own, would have another. Raises ClientError where it may not be looked
    up, and SemifError for a region without the container.
    """
    if environment.serving_kind.runs_adapter:
        return ()
    found = (_problem(aws, placed) for placed in environment.placements)
    return tuple(problem for problem in found if problem is not None)


def _problem(aws: Aws, environment: Environment) -> str | None:
    image = regional_image(environment.base_container, aws.region)
    wanted = f"{image} is not there"
    try:
        reply = aws.ecr.batch_get_image(
            registryId=image.registry.partition(".")[0],
            repositoryName=image.repository.removeprefix(f"{image.registry}/"),
            imageIds=[{"imageDigest": image.digest}],
        )
        missing = [failure.get("failureCode", "") for failure in reply.get("failures", [])]
    except ClientError as error:
        code = error.response.get("Error", {}).get("Code", "")
        if code not in _NOT_THERE:
            raise
        missing = [code]
    if not missing:
        return None
    return (
        f"{wanted} ({missing[0]}): the digest in adapter_image/dlc.toml is of another registry; pin "
        f"what this one has with `{pin_command(environment.base_container)} --region {aws.region}`"
    )
