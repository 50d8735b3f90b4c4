"""The `docker` and `aws` that a build finds on the local AWS: what they do not do they refuse."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.servers.local_aws import REPOSITORY, LocalAws

BUILD = ["buildx", "build", "--provenance=false", "--sbom=false"]
IMAGE = "type=image,name=registry.invalid/a:b,oci-mediatypes=false,push=true"


def run(
    aws: LocalAws, program: str, *arguments: str, text: str = "", **variables: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", f"local_aws.images.{program}_cli", *arguments],
        env=aws.environment | {"PYTHONPATH": os.pathsep.join(sys.path)} | variables,
        cwd=REPOSITORY,
        input=text,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


@pytest.mark.parametrize(
    ("arguments", "status", "told"),
    [
        (["pull", "alpine"], 125, "invalid choice: 'pull'"),
        (["buildx", "build", "--push", "."], 125, "--provenance"),
        ([*BUILD, "--output", IMAGE, "--cache-from", "x", "."], 125, "unrecognized arguments"),
        (
            [*BUILD, "--output", "type=oci,dest=x", "."],
            1,
            "--output must be an image with Docker's media types",
        ),
        ([*BUILD, "--output", IMAGE, "."], 1, "only builds that name their base as DLC_IMAGE"),
        (["run", "--rm", "--entrypoint", "cat", "image", "/file"], 125, "--network"),
        (["login", "--username", "AWS", "--password-stdin", "registry.invalid"], 1, "no password"),
    ],
)
def test_docker_refuses_what_it_would_do_otherwise(
    local_aws: LocalAws, tmp_path: Path, arguments: list[str], status: int, told: str
) -> None:
    refused = run(local_aws, "docker", *arguments, LOCAL_AWS_IMAGES=str(tmp_path))
    assert refused.returncode == status
    assert told in refused.stderr
    assert "Traceback" not in refused.stderr


@pytest.mark.parametrize(
    ("arguments", "status", "told"),
    [
        (["ecr"], 252, "a service and an operation are needed, got ecr"),
        (["ecr", "fly"], 252, "ecr has no operation fly"),
        (["ecr", "describe-images", "--repositories", "x"], 252, "has no option --repositories"),
        (["ecr", "describe-images", "--no-paginate"], 252, "only options with one value"),
        (["ecr", "describe-images", "--repository-name", "none"], 254, "RepositoryNotFoundException"),
        (["s3", "cp", "s3://bucket/a", "here"], 252, "s3 cp takes a file and an s3:// address"),
    ],
)
def test_aws_refuses_what_it_cannot_do(
    local_aws: LocalAws, arguments: list[str], status: int, told: str
) -> None:
    refused = run(local_aws, "aws", *arguments)
    assert refused.returncode == status
    assert told in refused.stderr
    assert "Traceback" not in refused.stderr


def test_aws_answers_as_the_real_one_prints(local_aws: LocalAws, tmp_path: Path) -> None:
    name = "printed"
    local_aws.ecr.create_repository(repositoryName=name)
    local_aws.s3.create_bucket(Bucket=name)
    lookup = ["ecr", "batch-get-image", "--repository-name", name, "--image-ids", "imageTag=none"]
    query = ["--query", "images[0].imageId.imageDigest"]
    assert run(local_aws, "aws", *lookup, *query, "--output", "text").stdout == "None\n"
    assert json.loads(run(local_aws, "aws", *lookup).stdout)["images"] == []
    assert run(local_aws, "aws", "ecr", "get-login-password").stdout.strip()
    listing = ["s3api", "list-objects-v2", "--bucket", name, "--prefix", "ke", "--query", "Contents[0].Key"]
    assert run(local_aws, "aws", *listing, "--output", "text").stdout == "None\n"
    file = tmp_path / "file"
    file.write_text("stored")
    assert run(local_aws, "aws", "s3", "cp", "--no-progress", str(file), f"s3://{name}/key").returncode == 0
    assert local_aws.s3.get_object(Bucket=name, Key="key")["Body"].read() == b"stored"
    assert run(local_aws, "aws", *listing, "--output", "text").stdout == "key\n"
