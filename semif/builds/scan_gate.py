"""No lock names an image with critical findings, unless the environment's file accepts each of them."""

from collections.abc import Callable, Iterable

from semif.builds.codebuild import BuildError
from semif.images.image_copy import EcrRepository
from semif.images.image_ref import ImageRef
from semif.images.scan_findings import scan_of
from semif.target.target import Target

OnNote = Callable[[str], None]
"""Takes a line for people that is no failure."""


def check_scans(target: Target, images: Iterable[ImageRef], on_note: OnNote) -> None:
    """Wait for ECR's scans of `images`, which lie in the target's own repository.

    Raises BuildError for critical findings that `[accepted_findings]` does not name. That an image was not
    scanned, or that an accepted finding is there or in none of them any more, is told.
    """
    if target.local:
        on_note("the AWS on this machine scans no images")
        return
    accepted = target.environment.accepted_findings
    found, every_one = set[str](), True
    for image in images:
        result = scan_of(
            EcrRepository(target.aws.ecr, image.repository), image.digest, poll_seconds=target.poll_seconds
        )
        if not result.scanned:
            every_one = False
            on_note(f"the image was not scanned, nobody knows what is in it: {result.status}")
            continue
        if refused := [name for name in result.critical if name not in accepted]:
            raise BuildError(
                f"{image} has critical findings: {', '.join(refused)}; the lock stays as it was. Move the "
                "base (`semif image pin`) or the wheels and build again, or name each of them in "
                f"[accepted_findings] of {target.environment.name}, with who accepts it and why"
            )
        found |= set(result.critical)
    for name in sorted(found):
        on_note(f"{name} is a critical finding, accepted: {accepted[name]}")
    if every_one and (gone := sorted(set(accepted) - found)):
        on_note(f"not found (any more), take it out of [accepted_findings]: {', '.join(gone)}")
