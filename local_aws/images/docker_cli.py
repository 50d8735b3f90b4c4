"""`docker` for builds on this machine: the few commands that our buildspec uses, done with buildah.

Whatever else it is asked for it refuses. It differs from Docker in one thing, and says so in the build's log:
the base image is a stand-in (`stand_in_image.py`), because no public registry is reached from here.
"""

import argparse
import configparser
import os
import subprocess
import sys
import urllib.request
from pathlib import Path

import boto3
from botocore.exceptions import ClientError

from local_aws.images.container_engine import REGISTRY_VARIABLE, SCRATCH_VARIABLE
from local_aws.images.stand_in_image import CA_BUNDLE, certificate_authorities, stand_in_image

MANIFEST_TYPE = "application/vnd.docker.distribution.manifest.v2+json"
BASE_ARGUMENT = "DLC_IMAGE"
"""The build argument that names the base."""
_EXIT_USAGE = 125
"""As docker itself."""
_PIP_KEYS = ("index-url", "extra-index-url", "trusted-host", "timeout")


class RefusedError(Exception):
    """The command cannot be done; the message says why."""


def main(arguments: list[str]) -> int:
    """Run one command; returns its exit status."""
    try:
        return _run(arguments)
    except (RefusedError, OSError, subprocess.CalledProcessError, ClientError) as error:
        _say(f"docker of the local AWS: {error}")
        return 1


def _run(arguments: list[str]) -> int:
    try:
        asked = _parser().parse_args(arguments)
    except SystemExit as end:
        return 0 if end.code == 0 else _EXIT_USAGE
    if asked.command == "login":
        return _login(asked.registry)
    if asked.command == "run":
        return _run_container(asked.image, [asked.entrypoint, *asked.argument])
    return _build(asked.output, dict(pair.split("=", 1) for pair in asked.build_arg), asked.context)


def _parser() -> argparse.ArgumentParser:
    """Options with one choice are those without which Docker would do something else than is done here."""
    parser = argparse.ArgumentParser(prog="docker", description=__doc__, allow_abbrev=False)
    commands = parser.add_subparsers(dest="command", required=True)
    login = commands.add_parser("login", allow_abbrev=False)
    login.add_argument("--username", required=True)
    login.add_argument("--password-stdin", action="store_true", required=True)
    login.add_argument("registry")
    buildx = commands.add_parser("buildx").add_subparsers(dest="subcommand", required=True)
    build = buildx.add_parser("build", allow_abbrev=False)
    build.add_argument("--provenance", choices=["false"], required=True)
    build.add_argument("--sbom", choices=["false"], required=True)
    build.add_argument("--output", required=True)
    build.add_argument("--build-arg", action="append", default=[])
    build.add_argument("context", type=Path)
    run = commands.add_parser("run", allow_abbrev=False)
    run.add_argument("--rm", action="store_true", required=True)
    run.add_argument("--network", choices=["none"], required=True)
    run.add_argument("--entrypoint", required=True)
    run.add_argument("image")
    run.add_argument("argument", nargs=argparse.REMAINDER)
    return parser


def _login(registry: str) -> int:
    if not sys.stdin.read().strip():
        raise RefusedError(f"no password for {registry} on standard input")
    _say("Login Succeeded")
    return 0


def _build(output: str, build_arguments: dict[str, str], context: Path) -> int:
    wanted = dict(part.split("=", 1) for part in output.split(","))
    name = wanted.pop("name", "")
    if wanted != {"type": "image", "oci-mediatypes": "false", "push": "true"}:
        raise RefusedError(f"--output must be an image with Docker's media types, pushed; got {output}")
    scratch = Path(os.environ[SCRATCH_VARIABLE])
    base = build_arguments.get(BASE_ARGUMENT)
    if base is None:
        raise RefusedError(f"only builds that name their base as {BASE_ARGUMENT} are done here")
    stand_in = stand_in_image(scratch)
    _say(f"the base {base} is not on this machine: {stand_in} stands in for it")
    arguments = build_arguments | {BASE_ARGUMENT: stand_in}
    command = ["buildah", "bud", "--format", "docker", "--tag", name]
    for source, target in _pip_files(scratch).items():
        command += ["--volume", f"{source}:{target}:ro"]
    for key, value in arguments.items():
        command += ["--build-arg", f"{key}={value}"]
    subprocess.run([*command, str(context)], check=True)
    _push(name, scratch)
    return 0


def _pip_files(scratch: Path) -> dict[Path, str]:
    """What pip finds inside the build, and where: this machine's index and authorities."""
    done = subprocess.run(
        [sys.executable, "-m", "pip", "config", "list"], check=True, capture_output=True, text=True
    )
    lines = [line.split("=", 1) for line in done.stdout.splitlines() if "=" in line]
    settings = {key.rpartition(".")[2]: value.strip("'") for key, value in lines}
    configuration = configparser.RawConfigParser()
    configuration["global"] = {
        key: settings[key]
        for key in _PIP_KEYS
        if key in settings and not settings[key].startswith("file:")  # folders of this machine are not inside
    }
    files = {scratch / "pip.conf": "/etc/pip.conf"}
    if authorities := settings.get("cert") or certificate_authorities():
        configuration["global"]["cert"] = f"/{CA_BUNDLE}"
        files[Path(authorities)] = f"/{CA_BUNDLE}"
    with (scratch / "pip.conf").open("w") as file:
        configuration.write(file)
    return files


def _push(name: str, scratch: Path) -> None:
    """Into the registry, and into moto's ECR, which then knows the image as ECR would after a push."""
    registry = os.environ[REGISTRY_VARIABLE]
    repository, _, tag = name.partition("/")[2].partition(":")
    digest_file = scratch / "digest"
    destination = f"docker://{registry}/{repository}:{tag}"
    command = ["buildah", "push", "--tls-verify=false", "--format", "v2s2", "--digestfile", str(digest_file)]
    subprocess.run([*command, name, destination], check=True)
    digest = digest_file.read_text().strip()
    request = urllib.request.Request(
        f"http://{registry}/v2/{repository}/manifests/{digest}", headers={"Accept": MANIFEST_TYPE}
    )
    with urllib.request.urlopen(request, timeout=30) as reply:  # noqa: S310 - our own registry
        manifest, media_type = reply.read().decode(), reply.headers["Content-Type"]
    boto3.client("ecr").put_image(
        repositoryName=repository,
        imageManifest=manifest,
        imageManifestMediaType=media_type,
        imageTag=tag,
        imageDigest=digest,
    )


def _run_container(image: str, command: list[str]) -> int:
    """Run a program of an image that was built here, to its end."""
    container = subprocess.run(
        ["buildah", "from", "--pull-never", image], check=True, capture_output=True, text=True
    ).stdout.strip()
    try:
        return subprocess.run(
            ["unshare", "--net", "buildah", "run", container, "--", *command], check=False
        ).returncode
    finally:
        subprocess.run(["buildah", "rm", container], check=True, stdout=subprocess.DEVNULL)


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
