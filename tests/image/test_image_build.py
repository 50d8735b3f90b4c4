"""What the build makes and refuses: the manifest that SageMaker takes, closed inputs, tags that stay."""

import io
import json
import re
import subprocess
import sys
import tarfile
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from local_aws.images.stand_in_image import make_root
from semif.images.base_images import base_image
from semif.project.root import project_root
from tests.image.conftest import BUCKET, REPOSITORY, REVISION, Built, ImageBuilds

IMAGE = project_root() / "adapter_image"
DOCKER_MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"
DOCKER_LAYER = "application/vnd.docker.image.rootfs.diff.tar.gzip"
OWN_BYTES = 60_000_000
"""What the image may add to its base, as it lies in the registry and is pulled."""


@pytest.fixture(scope="module")
def own_layer(builds: ImageBuilds, built: Built) -> tarfile.TarFile:
    """The one layer above the base's."""
    _, layer = built.manifest["layers"]
    return tarfile.open(fileobj=io.BytesIO(builds.blob(layer["digest"])), mode="r:gz")


@pytest.fixture(scope="module")
def sbom(builds: ImageBuilds, built: Built) -> dict[str, dict[str, Any]]:
    """The components of the bill of materials that the build stored, by name."""
    hex_digest = built.digest.removeprefix("sha256:")
    stored = builds.aws.s3.get_object(Bucket=BUCKET, Key=f"images/{hex_digest}/sbom.cdx.json")["Body"].read()
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(stored.decode()) is None
    document = json.loads(stored)
    properties = {one["name"]: one["value"] for one in document["metadata"]["component"]["properties"]}
    assert properties["semif:source-sha256"] == built.source
    return {component["name"]: component for component in document["components"]}


def locked() -> dict[str, tuple[set[str], set[str]]]:
    """The versions and the wheels' hashes of every package in the container's lock."""
    packages: dict[str, tuple[set[str], set[str]]] = {}
    for pin in re.split(r"\n(?=[a-z])", (IMAGE / "requirements.txt").read_text()):
        if found := re.match(r"([a-z0-9.-]+)==([^\s;]+)", pin):
            versions, hashes = packages.setdefault(found[1], (set(), set()))
            versions.add(found[2])
            hashes |= set(re.findall(r"sha256:([0-9a-f]{64})", pin))
    return packages


def test_the_manifest_is_of_dockers_media_type_and_no_index(built: Built) -> None:
    assert built.manifest["mediaType"] == DOCKER_MANIFEST
    assert {layer["mediaType"] for layer in built.manifest["layers"]} == {DOCKER_LAYER}
    assert "manifests" not in built.manifest


def test_labels_and_exports_name_every_pin(built: Built) -> None:
    labels = built.config["config"]["Labels"]
    lock = built.exported
    assert labels["semif.source-sha256"] == built.source == lock["IMAGE_SOURCE_SHA256"]
    assert labels["org.opencontainers.image.revision"] == REVISION
    assert re.fullmatch(
        r"stand-in\.invalid/llama-cpp@sha256:[0-9a-f]{64}", labels["org.opencontainers.image.base.name"]
    )
    assert re.fullmatch(r"[0-9a-f]{64}", labels["semif.wheel-lock-sha256"])
    pins = tomllib.loads((IMAGE / "dlc.toml").read_text())["cpu"]
    assert labels["semif.llama-cpp-build"] == pins.get("llama_cpp_build", "unrecorded")
    assert lock["IMAGE_BASE"] == str(base_image("cpu"))
    assert "stands in for it" in built.log, "a base that is not the published one must be said"


def test_it_starts_as_sagemaker_starts_it_and_runs_as_the_base_does(built: Built) -> None:
    config = built.config["config"]
    assert config["Entrypoint"] == ["/opt/semif/venv/bin/python", "-P", "-m", "semif_adapter"]
    assert config["Cmd"] == ["serve"]
    assert list(config["ExposedPorts"]) == ["8080/tcp"]
    assert config.get("User", "") == ""
    assert not [variable for variable in config["Env"] if variable.startswith(("SEMIF_", "PIP_"))]


def test_it_adds_its_own_folder_to_the_base_and_nothing_else(own_layer: tarfile.TarFile) -> None:
    added = {name for name in own_layer.getnames() if not name.startswith("opt/semif/")}
    # What a build mounts while it runs: buildah leaves the places, empty.
    mounted = {
        "etc/hosts",
        "etc/hostname",
        "etc/resolv.conf",
        "etc/pip.conf",
        "run",
        "run/.containerenv",
        "sys",
    }
    folders = {"etc", "opt", "opt/semif", "proc", "dev", "tmp", "var", "var/tmp", "usr", "root"}
    assert added <= mounted | folders, added - mounted - folders
    assert not [name for name in added & mounted if own_layer.getmember(name).size]


def test_nothing_of_it_can_be_written_and_nothing_in_it_installs_or_compiles(
    own_layer: tarfile.TarFile,
) -> None:
    members = [member for member in own_layer.getmembers() if member.name.startswith("opt/semif/")]
    assert not [member.name for member in members if not member.issym() and member.mode & 0o222]
    assert {(member.uid, member.gid) for member in members} == {(0, 0)}
    names = {Path(member.name).name for member in members}
    assert not names & {"pip", "setuptools", "wheel", "gcc", "cc", "git", "bill_of_materials.py"}
    sources = {m.name for m in members if "/semif_adapter/" in m.name and m.name.endswith(".py")}
    assert len(sources) == len(list((IMAGE / "semif_adapter").rglob("*.py")))
    files = [own_layer.extractfile(name) for name in sources]
    assert all(file is not None and b"\r\n" not in file.read() for file in files)


def test_its_own_size_is_small(
    built: Built, own_layer: tarfile.TarFile, record_property: Callable[..., None]
) -> None:
    stored = built.manifest["layers"][1]["size"]
    unpacked = sum(member.size for member in own_layer.getmembers())
    record_property("bytes over the base, stored and unpacked", (stored, unpacked))
    print(f"over the base: {stored / 1e6:.1f} MB in the registry, {unpacked / 1e6:.1f} MB unpacked")
    assert stored < OWN_BYTES


def test_the_bill_of_materials_holds_each_wheel_that_the_lock_allows(
    sbom: dict[str, dict[str, Any]],
) -> None:
    wheels = {
        name: component
        for name, component in sbom.items()
        if component.get("purl", "").startswith("pkg:pypi/")
    }
    lock = locked()
    assert {
        component["purl"].split("@")[0].removeprefix("pkg:pypi/") for component in wheels.values()
    } == set(lock)
    for component in wheels.values():
        versions, hashes = lock[component["purl"].split("@")[0].removeprefix("pkg:pypi/")]
        [found] = component["hashes"]
        assert component["version"] in versions
        assert found["content"] in hashes
        assert component["licenses"]
    assert sbom["llama.cpp"]["version"] == "unrecorded"
    assert sbom["stand-in.invalid/llama-cpp"]["version"]


def test_the_licences_of_every_wheel_are_stored(
    builds: ImageBuilds, built: Built, own_layer: tarfile.TarFile
) -> None:
    hex_digest = built.digest.removeprefix("sha256:")
    stored = builds.aws.s3.get_object(Bucket=BUCKET, Key=f"images/{hex_digest}/licences.txt")["Body"].read()
    inside = own_layer.extractfile("opt/semif/licences.txt")
    assert inside is not None
    assert stored == inside.read()
    packages = stored.decode().split("=" * 80)[1:]
    assert len(packages) == len(locked())
    without = [text.split()[0] for text in packages if len(text) < 200]
    assert without == [], "wheels without a licence text"


def test_the_same_image_is_found_and_not_built_again(builds: ImageBuilds, built: Built) -> None:
    again = builds.build(built.source, SOURCE_SHA256=built.source)
    log = builds.log(again)
    assert again["buildStatus"] == "SUCCEEDED", log
    exported = {one["name"]: one["value"] for one in again["exportedEnvironmentVariables"]}
    assert exported == {**built.exported, "IMAGE_REUSED": "yes"}
    assert f"exists as {built.digest}, nothing to build" in log
    assert "STEP" not in log


def test_what_is_not_stored_of_an_image_is_stored_by_the_next_build(
    builds: ImageBuilds, built: Built
) -> None:
    key = f"images/{built.digest.removeprefix('sha256:')}/licences.txt"
    stored = builds.aws.s3.get_object(Bucket=BUCKET, Key=key)["Body"].read()
    builds.aws.s3.delete_object(Bucket=BUCKET, Key=key)
    again = builds.build(built.source, SOURCE_SHA256=built.source)
    assert again["buildStatus"] == "SUCCEEDED", builds.log(again)
    assert "STEP" not in builds.log(again)
    assert builds.aws.s3.get_object(Bucket=BUCKET, Key=key)["Body"].read() == stored


@pytest.mark.parametrize("kind", ["another source", "an index"])
def test_a_tag_that_holds_something_else_fails_the_build(
    builds: ImageBuilds, built: Built, kind: str
) -> None:
    source = ("b" if kind == "another source" else "c") * 64
    manifest = json.dumps(built.manifest)
    media_type = DOCKER_MANIFEST
    if kind == "an index":
        media_type = "application/vnd.oci.image.index.v1+json"
        manifest = json.dumps({"schemaVersion": 2, "mediaType": media_type, "manifests": []})
    builds.aws.ecr.put_image(
        repositoryName=REPOSITORY,
        imageManifest=manifest,
        imageManifestMediaType=media_type,
        imageTag=f"{source}-{base_image('cpu').digest.removeprefix('sha256:')[:32]}",
    )
    build = builds.build(built.source, SOURCE_SHA256=source)
    assert build["buildStatus"] == "FAILED"
    told = {
        "another source": f"was built from the source {built.source}, not from {source}",
        "an index": f"its media type is {media_type}",
    }[kind]
    assert told in builds.log(build)


@pytest.fixture(scope="module")
def small_base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A base without Python, whose libllama is empty: enough for what the Dockerfile refuses."""
    root = tmp_path_factory.mktemp("base") / "root"
    make_root(root)
    for file in [*(root / "usr/bin").glob("python*"), root / "opt/llama.cpp/bin/libllama.so"]:
        file.unlink()
    for folder in (root / "usr/lib").glob("python*"):
        subprocess.run(["rm", "-r", folder], check=True)
    (root / "opt/llama.cpp/bin/libllama.so").touch()
    return root


DNF = '#!/bin/sh\necho "dnf $*"\nif [ "$1" = install ]; then cp /usr/bin/found /usr/bin/python3.12; fi\n'
INSTALL = "dnf install --assumeyes --setopt=install_weak_deps=False"
PYTHON = '#!/bin/sh\necho "python3.12 $*"\nexit 3\n'


@pytest.mark.parametrize(
    ("change", "arguments", "told"),
    [
        (None, {"DLC_IMAGE": "stand-in.invalid/llama-cpp:latest"}, "DLC_IMAGE must be repository@sha256:"),
        (None, {"SOURCE_SHA256": "A" * 64}, "SOURCE_SHA256 must be 64 hexadecimal digits, got AAAA"),
        (
            None,
            {"WHEEL_LOCK_SHA256": "0" * 64},
            "WHEEL_LOCK_SHA256 must be the hash of requirements.txt, got 0000",
        ),
        ("library", {}, "the base image has no /opt/llama.cpp/bin/libllama.so"),
        (None, {}, "the base image has no Python 3.11 or newer, and no dnf to install one with"),
        (
            "dnf",
            {},
            f"{INSTALL} python3.12\ndnf clean all\npython3.12 -m venv /opt/semif/venv",
        ),
    ],
)
def test_a_base_or_an_argument_that_does_not_fit_ends_the_build_with_one_line(
    small_base: Path,
    storage: Callable[..., str],
    tmp_path: Path,
    change: str | None,
    arguments: dict[str, str],
    told: str,
) -> None:
    containerfile = tmp_path / "Containerfile"
    containerfile.write_text("FROM scratch\nCOPY . /\n")
    library = small_base / "opt/llama.cpp/bin/libllama.so"
    installed = (
        {small_base / "usr/bin/dnf": DNF, small_base / "usr/bin/found": PYTHON} if change == "dnf" else {}
    )
    for path, text in installed.items():
        path.write_text(text)
        path.chmod(0o755)
    if change == "library":
        library.unlink()
    name = "stand-in.invalid/llama-cpp"
    storage(
        "bud", "--quiet", "--format", "docker", "--tag", name, "--file", str(containerfile), str(small_base)
    )
    for path in installed:
        path.unlink()
    library.touch()
    digest = storage("images", "--noheading", "--filter", f"reference={name}", "--format", "{{.Digest}}")
    digests = digest.splitlines()
    lock = subprocess.run(
        ["sha256sum", IMAGE / "requirements.txt"], capture_output=True, text=True, check=True
    )
    given = {
        "DLC_IMAGE": f"{name}@{digests[0]}",
        "SOURCE_SHA256": "a" * 64,
        "WHEEL_LOCK_SHA256": lock.stdout.split()[0],
    } | arguments
    options = [part for key, value in given.items() for part in ("--build-arg", f"{key}={value}")]
    output = storage("bud", "--format", "docker", *options, str(IMAGE), check=False)
    assert told in output
    assert "STEP 10" not in output
    storage("rmi", "--all", "--force", check=False)


@pytest.mark.parametrize("python", ["3.11", "3.12"])
@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_the_lock_installs_from_wheels_on_every_python_and_machine(
    python: str, machine: str, tmp_path: Path
) -> None:
    """pip's own choice, with the C library of Amazon Linux 2023 (glibc 2.34); nothing is installed."""
    platforms = [f"manylinux_2_{minor}_{machine}" for minor in range(34, 16, -1)] + [
        f"manylinux2014_{machine}"
    ]
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--no-deps"]
    command += ["--ignore-installed", "--only-binary", ":all:", "--require-hashes"]
    command += ["--implementation", "cp", "--python-version", python]
    command += [part for platform in platforms for part in ("--platform", platform)]
    command += ["--target", str(tmp_path), "--requirement", str(IMAGE / "requirements.txt"), "--report", "-"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    wheels = [one["download_info"]["url"].rpartition("/")[2] for one in json.loads(done.stdout)["install"]]
    assert any(f"cp{python.replace('.', '')}" in wheel and machine in wheel for wheel in wheels)
