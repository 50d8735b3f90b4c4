"""The builds of an environment, and the lock that they leave."""

from collections.abc import Callable, Mapping, Sequence

from pydantic import ValidationError

from semif.aws.s3 import S3Uri
from semif.aws.stacks import Stack, require_stack
from semif.builds.codebuild import SUCCEEDED, BuildError, StartedBuild, follow, require_success, start_build
from semif.builds.scan_gate import OnNote, check_scans
from semif.builds.sources import (
    IMAGE_SOURCES,
    SourceZip,
    model_sources,
    pack_sources,
    source_revision,
    upload_sources,
)
from semif.environment.tables.endpoint import ModelTable
from semif.errors import SemifError, problems_of
from semif.images.base_images import base_image
from semif.images.regional_images import regional_image
from semif.lock.check import check_lock
from semif.lock.lock_file import FORMS, BuiltImage, Lock, PublishedImage, read_lock, write_lock
from semif.models.any_preset import load_any_preset
from semif.models.packaging.build import find_model
from semif.target.target import Target

OnChange = Callable[[Sequence[StartedBuild]], None]
ImageParts = dict[str, dict[str, object]]
"""The images of a lock by their keys, `image` and maybe `fallback_image`."""

MODELS_PREFIX = "models"
"""Where buildspec.model.yml publishes, in the model bucket."""
NO_CONTAINER_ENGINE = "NO_CONTAINER_ENGINE"
"""Why the AWS on this machine builds no image; no other AWS says it."""


def build_environment(
    target: Target, on_change: OnChange = lambda _: None, on_note: OnNote = lambda _: None
) -> Lock:
    """Run the model build, and the image build beside it, and write the lock from what they export.

    A kind without our adapter has no image to build: its lock names the published one; with a model that the
    container downloads itself nothing is built at all, and no Artifacts stack is needed. The image build ends
    quickly where its image is there already; where the archive is and was read back, no model build is
    started. Raises
    SemifError where the Artifacts stack is missing, and BuildError where a build fails or exports what no
    lock may hold, and where ECR finds something critical in the image; the lock on disk then stays as it was.
    """
    environment = target.environment
    if not target.local:  # this machine answers with a library of its own
        environment.check_head()
    if environment.preset is None:
        lock = _lock(target, _published_images(target), _hub_model(environment.model))
        write_lock(target.lock_path, lock)
        return lock
    stack = require_stack(
        target.aws,
        environment.artifacts_stack,
        missing=f"run `semif deploy {target.command_line}`, which makes it first",
    )
    if environment.serving_kind.runs_adapter:
        images, model = _build_both(target, stack, on_change, on_note)
    else:
        images, model = _build_model(target, stack, on_change)
    lock = _lock(target, images, _model_part(target, model))
    if built := [image.uri for image in lock.images.values() if isinstance(image, BuiltImage)]:
        check_scans(target, built, on_note)
    write_lock(target.lock_path, lock)
    return lock


def stale_image(target: Target, lock: Lock) -> str | None:
    """A line for people where the image of `lock` was built from other files than the checkout holds now.

    None where they are the same, and for a published image. Raises SemifError where the files are missing.
    """
    if isinstance(lock.image, PublishedImage):
        return None
    here = pack_sources(target.root, IMAGE_SOURCES).sha256
    if here == lock.image.source_sha256:
        return None
    anew = f"`semif deploy {target.command_line}` builds it anew"
    if lock.built_in is not None:
        anew = f"build it in {lock.built_in.environment} and promote it again"
    return (
        "adapter_image/ or buildspec.yml is not what the locked image was built from (source "
        f"{lock.image.source_sha256[:12]}, here {here[:12]}); {anew}"
    )


def _build_both(
    target: Target, stack: Stack, on_change: OnChange, on_note: OnNote
) -> tuple[ImageParts, StartedBuild]:
    """The lock's images, and the model build, which has passed."""
    image_source = pack_sources(target.root, IMAGE_SOURCES)
    model_source = _model_source(target)
    images = _start_images(target, stack, image_source)
    model = _start_model(target, stack, model_source)
    every = [*images.values(), model]
    follow(target.aws, every, poll_seconds=target.poll_seconds, on_change=on_change)
    if target.local and images["image"].reason_code == NO_CONTAINER_ENGINE:
        require_success([model])
        return {key: {"built": False, "source_sha256": image_source.sha256} for key in images}, model
    require_success(every)
    parts = {key: _image_part(image) for key, image in images.items()}
    for key, part in parts.items():
        if images[key].exported.get("IMAGE_REUSED") != "no" and not _is_vouched_for(target, key, part):
            on_note(
                f"{part['uri']} was there already, and no lock names it: only its tag and its label say that "
                "it was built from this source, and whoever may push can write both; where nobody knows of a "
                "build that was interrupted or a lock that was lost, delete it and build again: "
                + _deletion(target, part)
            )
    return parts, model


def _start_images(target: Target, stack: Stack, source: SourceZip) -> dict[str, StartedBuild]:
    """A build for each accelerator, by its image's key in the lock; one project runs them, at once."""
    variables = {"REVISION": source_revision(target.root), "SOURCE_SHA256": source.sha256}
    builds = {"image": _start(target, stack, "image", source, variables)}
    if (fallback := target.environment.fallback) is not None:
        variables["BASE_IMAGE"] = str(fallback.base_image)  # in place of the project's
        named = f"image for {fallback.accelerator}"
        builds["fallback_image"] = _start(target, stack, "image", source, variables, named=named)
    return builds


def _is_vouched_for(target: Target, key: str, part: Mapping[str, object]) -> bool:
    """Whether a lock names an image that was there already; raise BuildError where one names another for it.

    Its tag and its labels are written by whoever may push; the lock by the build that made the image, and a
    person has reviewed it. The lock that was in service before counts as much: sources go back, too.
    """
    base_digest = str(part["base"]).partition("@")[2]  # the tag names no registry
    for path in (target.lock_path, target.previous_lock_path, target.noted_lock_path):
        try:
            locked = read_lock(path).images.get(key)
        except SemifError:  # there is none, or none that counts
            continue
        if not isinstance(locked, BuiltImage):
            continue
        if (locked.source_sha256, locked.base.digest) != (part["source_sha256"], base_digest):
            continue
        if str(locked.uri) != part["uri"]:
            raise BuildError(
                f"the repository has {part['uri']} under the tag of this source and base, and {path} "
                f"names {locked.uri} for them: the tag was filled by somebody else; see who pushed it, "
                "delete that image and build again"
            )
        return True
    return False


def _deletion(target: Target, part: Mapping[str, object]) -> str:
    """The AWS CLI's command that takes the image away."""
    repository, _, digest = str(part["uri"]).partition("@")
    return (
        f"aws ecr batch-delete-image --region {target.aws.region} "
        f"--repository-name {repository.partition('/')[2]} --image-ids imageDigest={digest}"
    )


def _build_model(target: Target, stack: Stack, on_change: OnChange) -> tuple[ImageParts, StartedBuild]:
    """As `_build_both`, with published images. They are looked up before anything is built for them."""
    images = _published_images(target)
    model = _start_model(target, stack, _model_source(target))
    follow(target.aws, [model], poll_seconds=target.poll_seconds, on_change=on_change)
    require_success([model])
    return images, model


def _published_images(target: Target) -> ImageParts:
    containers = [placed.base_container for placed in target.environment.placements]
    return {
        key: {"uri": str(regional_image(one, target.aws.region)), "base": str(base_image(one))}
        for key, one in zip(("image", "fallback_image"), containers, strict=False)
    }


def _hub_model(table: ModelTable) -> dict[str, object]:
    return {"hf_repo": table.hf_repo, "hf_file": table.hf_file, "revision": table.revision}


def _model_source(target: Target) -> SourceZip:
    return pack_sources(target.root, model_sources(load_any_preset(str(target.environment.model.preset))))


def _start_model(target: Target, stack: Stack, source: SourceZip) -> StartedBuild:
    table = target.environment.model
    variables = {"PRESET": str(table.preset), "MODEL_FORMAT": table.format}
    return _published_model(target, stack) or _start(target, stack, "model", source, variables)


def _published_model(target: Target, stack: Stack) -> StartedBuild | None:
    """A build that has ended, where the model is there: a real one would find it too, after a minute."""
    table = target.environment.model
    models = S3Uri(stack.output("BucketName"), MODELS_PREFIX)
    published = find_model(target.aws.s3, load_any_preset(str(table.preset)), models, table.format)
    if published is None:
        return None
    exported = {
        "MODEL_MANIFEST_SHA256": published.manifest_sha256,
        "MODEL_S3_URI": published.address,
        "MODEL_ARCHIVE_SHA256": published.archive_sha256 or "",
        "MODEL_FORMAT": published.format,
    }
    project = stack.output("ModelProjectName")
    return StartedBuild(
        "model", project, id="", phase="PUBLISHED_ALREADY", status=SUCCEEDED, exported=exported
    )


def _start(
    target: Target,
    stack: Stack,
    name: str,
    source: SourceZip,
    variables: Mapping[str, str],
    *,
    named: str | None = None,
) -> StartedBuild:
    """Start the project `name` (`image`, `model`); people see the build as `named`, where that is another."""
    bucket = stack.output("BucketName")
    upload_sources(target.aws.s3, bucket, source)
    project = stack.output(f"{name.capitalize()}ProjectName")
    return start_build(
        target.aws, name=named or name, project=project, source=f"{bucket}/{source.key}", variables=variables
    )


def _image_part(build: StartedBuild) -> dict[str, object]:
    return {
        "uri": build.exported.get("IMAGE_URI"),
        "source_sha256": build.exported.get("IMAGE_SOURCE_SHA256"),
        "base": build.exported.get("IMAGE_BASE"),
    }


def _model_part(target: Target, build: StartedBuild) -> dict[str, object]:
    part: dict[str, object] = {
        "preset": target.environment.model.preset,
        "manifest_sha256": build.exported.get("MODEL_MANIFEST_SHA256"),
        "s3_uri": build.exported.get("MODEL_S3_URI"),
        "format": build.exported.get("MODEL_FORMAT"),
    }
    if part["format"] != "prefix":  # where the files are not packed there is no archive to hash
        part["archive_sha256"] = build.exported.get("MODEL_ARCHIVE_SHA256")
    return part


def _lock(target: Target, images: ImageParts, model: Mapping[str, object]) -> Lock:
    content = {
        "schema": 1,
        "environment": target.environment.name,
        "kind": target.environment.kind,
        "account": target.account,
        "region": target.aws.region,
        **images,
        "model": model,
    }
    try:
        lock = Lock.model_validate(content)
    except ValidationError as error:
        problems = "; ".join(problems_of(error, hidden=FORMS))
        raise BuildError(f"the builds exported what no lock may hold: {problems}") from None
    check_lock(lock, target.environment, source="what the builds exported")
    return lock
