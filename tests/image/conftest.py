"""The image, built by CodeBuild of the AWS on this machine, pulled by digest, started as SageMaker does."""

import json
import os
import shutil
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlparse

import pytest

from local_aws.images.container_engine import missing
from semif.builds.sources import IMAGE_SOURCES, pack_sources, upload_sources
from semif.images.base_images import base_image
from semif.models.presets import load_preset
from semif.project.root import project_root
from tests.support.machine.waiting import eventually
from tests.support.servers.local_aws import LocalAws, start_local_aws

if TYPE_CHECKING:
    from mypy_boto3_codebuild.type_defs import BuildTypeDef, EnvironmentVariableTypeDef

BUCKET = "image-builds"
PROJECT = "image"
REPOSITORY = "semif-test"
REVISION = "0123456789abcdef0123456789abcdef01234567"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Each test says by its name that it did not run."""
    lacks = missing() + [program for program in ("unshare", "nsenter", "ip") if shutil.which(program) is None]
    if lacks:
        reason = f"images are neither built nor run: this machine lacks {', '.join(lacks)} (make system-deps)"
        for item in items:
            if Path(__file__).parent in item.path.parents:
                item.add_marker(pytest.mark.skip(reason=reason))


@dataclass(frozen=True)
class ImageBuilds:
    """An AWS on this machine with the project that builds images, as the Artifacts stack has it."""

    aws: LocalAws
    repository_uri: str

    def build(self, source: str, **variables: str) -> "BuildTypeDef":
        """Start a build of the source zip under its hash, with these variables, and wait for its end."""
        given: list[EnvironmentVariableTypeDef] = [
            {"name": name, "value": value, "type": "PLAINTEXT"} for name, value in variables.items()
        ]
        started = self.aws.codebuild.start_build(
            projectName=PROJECT,
            sourceTypeOverride="S3",
            sourceLocationOverride=f"{BUCKET}/sources/{source}.zip",
            environmentVariablesOverride=given,
        )["build"]
        return eventually(
            lambda: self.aws.codebuild.batch_get_builds(ids=[started["id"]])["builds"][0],
            lambda build: build["buildComplete"],
            pause_seconds=0.2,
            seconds=600,
        )

    def log(self, build: "BuildTypeDef") -> str:
        """What its commands said."""
        return "\n".join(self.aws.log_lines(build["logs"]["groupName"], build["logs"]["streamName"]))

    def blob(self, digest: str) -> bytes:
        """A layer, or a configuration, from where ECR says that it lies."""
        with urllib.request.urlopen(self.blob_url(digest), timeout=60) as reply:
            data: bytes = reply.read()
            return data

    def blob_url(self, digest: str) -> str:
        return self.aws.ecr.get_download_url_for_layer(repositoryName=REPOSITORY, layerDigest=digest)[
            "downloadUrl"
        ]


@pytest.fixture(scope="session")
def builds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ImageBuilds]:
    aws = start_local_aws(tmp_path_factory.mktemp("image-aws"))
    with aws.process:
        builds = ImageBuilds(aws, f"{aws.account}.dkr.ecr.{aws.region}.amazonaws.com/{REPOSITORY}")
        builds.aws.ecr.create_repository(repositoryName=REPOSITORY, imageTagMutability="IMMUTABLE")
        aws.s3.create_bucket(Bucket=BUCKET)
        variables = {
            "BASE_IMAGE": str(base_image("cpu")),
            "MODEL_BUCKET": BUCKET,
            "REPOSITORY_URI": builds.repository_uri,
        }
        aws.codebuild.create_project(
            name=PROJECT,
            source={"type": "S3", "location": f"{BUCKET}/none.zip"},
            artifacts={"type": "NO_ARTIFACTS"},
            environment={
                "type": "LINUX_CONTAINER",
                "image": "aws/codebuild/amazonlinux-x86_64-standard:5.0",
                "computeType": "BUILD_GENERAL1_MEDIUM",
                "privilegedMode": True,
                "environmentVariables": [{"name": name, "value": value} for name, value in variables.items()],
            },
            serviceRole=f"arn:aws:iam::{aws.account}:role/image",
        )
        yield builds
        assert aws.process.stdin is not None
        aws.process.stdin.close()
        assert aws.process.wait(timeout=60) == 0


@dataclass(frozen=True)
class Built:
    """An image that a build pushed."""

    source: str
    exported: dict[str, str]
    log: str
    manifest: dict[str, Any]
    config: dict[str, Any]

    @property
    def digest(self) -> str:
        return self.exported["IMAGE_URI"].partition("@")[2]


@pytest.fixture(scope="session")
def built(builds: ImageBuilds) -> Built:
    """This checkout's image."""
    source = pack_sources(project_root(), IMAGE_SOURCES)
    upload_sources(builds.aws.s3, BUCKET, source)
    build = builds.build(source.sha256, SOURCE_SHA256=source.sha256, REVISION=REVISION)
    log = builds.log(build)
    assert build["buildStatus"] == "SUCCEEDED", log
    exported = {one["name"]: one["value"] for one in build["exportedEnvironmentVariables"]}
    digest = exported["IMAGE_URI"].partition("@")[2]
    [image] = builds.aws.ecr.batch_get_image(repositoryName=REPOSITORY, imageIds=[{"imageDigest": digest}])[
        "images"
    ]
    manifest = json.loads(image["imageManifest"])
    config = json.loads(builds.blob(manifest["config"]["digest"]))
    return Built(source.sha256, exported, log, manifest, config)


@pytest.fixture(scope="session")
def storage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., str]]:
    """Runs buildah on images of the tests' own, as another machine would have them; gives what it prints."""
    folder = tmp_path_factory.mktemp("images")
    (folder / "storage.conf").write_text(
        f'[storage]\ndriver = "vfs"\ngraphroot = "{folder}/storage"\nrunroot = "{folder}/run"\n'
    )
    variables = {"CONTAINERS_STORAGE_CONF": str(folder / "storage.conf"), "BUILDAH_ISOLATION": "chroot"}

    def buildah(*arguments: str, check: bool = True) -> str:
        done = subprocess.run(
            ["buildah", *arguments],
            env=os.environ | variables,
            stdout=subprocess.PIPE,
            stderr=None if check else subprocess.STDOUT,
            text=True,
            check=check,
        )
        return done.stdout.strip()

    yield buildah
    buildah("umount", "--all")


@pytest.fixture(scope="session")
def root(builds: ImageBuilds, built: Built, storage: Callable[..., str]) -> Path:
    """The image's file system, pulled by its digest from the registry."""
    registry = urlparse(builds.blob_url(built.manifest["config"]["digest"])).netloc
    container = storage("from", "--tls-verify=false", f"docker://{registry}/{REPOSITORY}@{built.digest}")
    folder = Path(storage("mount", container))
    (folder / "opt/ml/model").mkdir()  # where SageMaker mounts the model
    return folder


# In namespaces of its own: no network but a loopback, process 1, nothing writable but /tmp.
START = """
ip link set lo up
mount --make-rprivate /
mount --bind "$ROOT" "$ROOT"
mount -t proc proc "$ROOT/proc"
mount --rbind /dev "$ROOT/dev"
mount --bind "$MODEL" "$ROOT/opt/ml/model"
mount -o remount,bind,ro "$ROOT/opt/ml/model"
mount -t tmpfs tmpfs "$ROOT/tmp"
mount -o remount,bind,ro "$ROOT"
exec chroot "$ROOT" /usr/bin/env -i "$@"
"""


class Container:
    """A started image; what it says goes to a file."""

    def __init__(
        self, root: Path, model: Path, log: Path, config: dict[str, Any], *arguments: str, **variables: str
    ):
        set_up = [f"{name}={value}" for name, value in variables.items()]
        command = [*config["Env"], *set_up, *config["Entrypoint"], *arguments]
        self.log = log
        namespaces = ("--mount", "--net", "--pid", "--ipc", "--uts", "--fork", "--kill-child")
        with log.open("wb") as output:
            self.process = subprocess.Popen(
                ["unshare", *namespaces, "sh", "-ceu", START, "sh", *command],
                env=os.environ | {"ROOT": str(root), "MODEL": str(model)},
                stdout=output,
                stderr=subprocess.STDOUT,
            )

    @property
    def lines(self) -> list[str]:
        return self.log.read_text().splitlines()

    def inside(self, *command: str) -> subprocess.CompletedProcess[str]:
        """Run a program of this machine in the container's network."""
        return subprocess.run(
            ["nsenter", f"--net=/proc/{self.process.pid}/ns/net", *command],
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )

    def semif(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return self.inside(sys.executable, "-m", "semif", *arguments)

    def wait_until(self, words: str) -> None:
        """Return when a line of the log holds these words."""

        def log() -> str:
            assert self.process.poll() is None, self.log.read_text()
            return self.log.read_text()

        eventually(log, lambda said: words in said)

    def stop(self) -> int:
        """SIGTERM to process 1 of the container, as SageMaker; returns the exit status."""
        pid = self.process.pid
        [child] = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        os.kill(int(child), signal.SIGTERM)
        return self.process.wait(60)


Start = Callable[..., Container]


@pytest.fixture(scope="session")
def model_folder(tmp_path_factory: pytest.TempPathFactory, embedded_gguf: Path) -> Path:
    """The embedded model's archive, unpacked."""
    folder = tmp_path_factory.mktemp("model")
    preset = load_preset("embedded")
    shutil.copy(embedded_gguf, folder / preset.model.file)
    (folder / "model-manifest.json").write_bytes(preset.manifest().canonical_bytes())
    return folder


@pytest.fixture(scope="module")
def start(
    root: Path, built: Built, model_folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Start]:
    """Starts the image with arguments and variables, on the embedded model or the folder `model`."""
    with ExitStack() as stack:

        def start(*arguments: str, model: Path = model_folder, **variables: str) -> Container:
            log = tmp_path_factory.mktemp("container") / "log"
            container = Container(root, model, log, built.config["config"], *arguments, **variables)
            stack.callback(container.process.wait)
            stack.callback(container.process.kill)
            return container

        yield start
