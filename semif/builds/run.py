"""The two builds of an environment, and the lock that they leave."""

from collections.abc import Callable, Mapping, Sequence

from pydantic import ValidationError

from semif.builds.codebuild import Build, BuildError, follow, require_success, start_build
from semif.builds.sources import IMAGE_SOURCES, MODEL_SOURCES, SourceZip, pack_sources, upload_sources
from semif.errors import problems_of
from semif.lock import Lock, check_lock, write_lock
from semif.presets import load_preset
from semif.stacks import Stack, require_stack
from semif.target import Target

NO_CONTAINER_ENGINE = "NO_CONTAINER_ENGINE"
"""Why the AWS on this machine builds no image; no other AWS says it."""


def build_environment(target: Target, on_change: Callable[[Sequence[Build]], None] = lambda _: None) -> Lock:
    """Run the image build and the model build side by side, and write the lock from what they export.

    Both end quickly where their image or archive is there already. Raises SemifError where the Artifacts
    stack is missing, and BuildError where a build fails or exports what no lock may hold; the lock on disk
    then stays as it was.
    """
    stack = require_stack(
        target.aws,
        target.environment.artifacts_stack,
        missing=f"run `semif deploy {target.command_line}`, which makes it first",
    )
    image_source = pack_sources(target.root, IMAGE_SOURCES)
    model_source = pack_sources(target.root, MODEL_SOURCES)
    image = _start(target, stack, "image", image_source, {"SOURCE_SHA256": image_source.sha256})
    model = _start(target, stack, "model", model_source, {"PRESET": target.environment.model.preset})
    follow(target.aws, [image, model], poll_seconds=target.poll_seconds, on_change=on_change)
    not_built = target.local and image.reason_code == NO_CONTAINER_ENGINE
    require_success([model] if not_built else [image, model])
    image_part = {"built": False, "source_sha256": image_source.sha256} if not_built else _image_part(image)
    lock = _lock(target, image_part, _model_part(target, model))
    write_lock(target.lock_path, lock)
    return lock


def _start(target: Target, stack: Stack, name: str, source: SourceZip, variables: Mapping[str, str]) -> Build:
    bucket = stack.output("BucketName")
    upload_sources(target.aws.s3, bucket, source)
    project = stack.output(f"{name.capitalize()}ProjectName")
    return start_build(
        target.aws, name=name, project=project, source=f"{bucket}/{source.key}", variables=variables
    )


def _image_part(build: Build) -> dict[str, object]:
    return {
        "uri": build.exported.get("IMAGE_URI"),
        "source_sha256": build.exported.get("IMAGE_SOURCE_SHA256"),
        "base": build.exported.get("IMAGE_BASE"),
    }


def _model_part(target: Target, build: Build) -> dict[str, object]:
    return {
        "preset": target.environment.model.preset,
        "manifest_sha256": build.exported.get("MODEL_MANIFEST_SHA256"),
        "s3_uri": build.exported.get("MODEL_S3_URI"),
        "archive_sha256": build.exported.get("MODEL_ARCHIVE_SHA256"),
        "format": build.exported.get("MODEL_FORMAT"),
    }


def _lock(target: Target, image: Mapping[str, object], model: Mapping[str, object]) -> Lock:
    content = {
        "schema": 1,
        "environment": target.environment.name,
        "kind": target.environment.kind,
        "account": target.account,
        "region": target.aws.region,
        "image": image,
        "model": model,
    }
    try:
        lock = Lock.model_validate(content)
    except ValidationError as error:
        problems = "; ".join(problems_of(error))
        raise BuildError(f"the builds exported what no lock may hold: {problems}") from None
    manifest = load_preset(target.environment.model.preset).manifest()
    check_lock(lock, target.environment, manifest, source="what the builds exported")
    return lock
