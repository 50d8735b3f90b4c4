"""No lock names an image with critical findings, unless the environment's file accepts each of them."""

from collections.abc import Callable

from semif.builds.codebuild import BuildError
from semif.images.image_copy import EcrRepository
from semif.images.image_ref import ImageRef
from semif.images.scan_findings import scan_of
from semif.target.target import Target

OnNote = Callable[[str], None]
"""Takes a line for people that is no failure."""


def check_scan(target: Target, image: ImageRef, on_note: OnNote) -> None:
    """Wait for ECR's scan of `image`, which lies in the target's own repository.

    Raises BuildError for critical findings that `[accepted_findings]` does not name. That an image was not
    scanned, or that an accepted finding is there or not any more, is told.
    """
    if target.local:
        on_note("the AWS on this machine scans no images")
        return
    result = scan_of(
        EcrRepository(target.aws.ecr, image.repository), image.digest, poll_seconds=target.poll_seconds
    )
    accepted = target.environment.accepted_findings
    if not result.scanned:
        on_note(f"the image was not scanned, nobody knows what is in it: {result.status}")
        return
    if refused := [name for name in result.critical if name not in accepted]:
        raise BuildError(
            f"{image} has critical findings: {', '.join(refused)}; the lock stays as it was. Move the base "
            "(`semif image pin`) or the wheels and build again, or name each of them in [accepted_findings] "
            f"of {target.environment.name}, with who accepts it and why"
        )
    for name in result.critical:
        on_note(f"{name} is a critical finding, accepted: {accepted[name]}")
    if gone := sorted(set(accepted) - set(result.critical)):
        on_note(f"not found (any more), take it out of [accepted_findings]: {', '.join(gone)}")
