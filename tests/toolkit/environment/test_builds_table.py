"""Builds behind a wall: what [builds] may say, and where the base image then comes from."""

from collections.abc import Callable

import pytest

from semif.environment.environment import Environment
from semif.errors import ProblemsError
from semif.images.base_images import base_image
from semif.lock.check import check_lock
from semif.lock.lock_file import Lock

FILE = """
kind = "{kind}"
removal = "destroy"
{place}
[model]
preset = "embedded"
[endpoint]
instance_type = "ml.c6i.4xlarge"
[builds]
{builds}
"""
NETWORK = """vpc_id = "vpc-0123456789abcdef0"
subnet_ids = ["subnet-0123456789abcdef0"]
security_group_ids = ["sg-0123456789abcdef0"]"""
MIRROR = "111122223333.dkr.ecr.eu-central-1.amazonaws.com/ecr-public/deep-learning-containers/llama-cpp"

EnvironmentOf = Callable[..., Environment]


def file(builds: str, *, kind: str = "decision", place: str = "") -> str:
    return FILE.format(builds=builds, kind=kind, place=place)


@pytest.mark.parametrize(
    "builds",
    [
        "",
        NETWORK,
        'python_index = "https://packages.example.com:8443/root/index/simple"',
        'model_hub = "https://hub.example.com/"',
        f'base_repository = "{MIRROR}"',
    ],
)
def test_what_is_allowed(environment_of: EnvironmentOf, builds: str) -> None:
    assert environment_of(file(builds)).builds is not None


@pytest.mark.parametrize(
    ("builds", "problem"),
    [
        ('vpc_id = "vpc-0123456789abcdef0"', "builds: subnet_ids and security_group_ids missing; vpc_id,"),
        (NETWORK.replace("vpc-", "vpc_"), "builds.vpc_id: 'vpc_0123456789abcdef0' must be a VPC's id"),
        (NETWORK.partition("\n")[2], "builds: vpc_id missing"),
        ('python_index = "http://packages.example.com/simple"', "builds.python_index: must be https://HOST"),
        ('model_hub = "https://hub.example.com/?token=x"', "builds.model_hub: must be https://HOST"),
        ('model_hub = "https://hub.example.com/a b"', "builds.model_hub: must be https://HOST"),
        (f'base_repository = "{MIRROR}:v1"', "must be a repository of a private ECR registry, without a tag"),
        (f'base_repository = "{MIRROR}/"', "must be a repository of a private ECR registry"),
        ('base_repository = "public.ecr.aws/x/y"', "ACCOUNT.dkr.ecr.REGION.amazonaws.com/NAME"),
        (
            f'base_repository = "{MIRROR.replace("eu-central", "cn-north")}"',
            "must be a repository of a private ECR registry",
        ),
        ('npm_registry = "https://npm.example.com"', "builds.npm_registry is not a known key"),
    ],
)
def test_what_is_refused(environment_of: EnvironmentOf, builds: str, problem: str) -> None:
    with pytest.raises(ProblemsError) as caught:
        environment_of(file(builds))
    assert problem in str(caught.value)


@pytest.mark.parametrize(
    ("builds", "region", "count"),
    [
        (f'{NETWORK}\nbase_repository = "{MIRROR}"', "eu-west-1", 1),
        (f'{NETWORK}\nbase_repository = "{MIRROR}"', "eu-central-1", 0),
        (f'base_repository = "{MIRROR}"', "eu-west-1", 0),
    ],
)
def test_a_base_that_a_vpc_of_another_region_may_not_reach_is_warned_of(
    environment_of: EnvironmentOf, builds: str, region: str, count: int
) -> None:
    warnings = environment_of(file(builds, place=f'region = "{region}"')).warnings
    assert sum(f"it is in eu-central-1 and the builds' VPC in {region}" in line for line in warnings) == count


@pytest.mark.parametrize("address", ["https://user:pa55word@h.example.com/simple", "pa55word"])
def test_a_password_is_refused_and_not_repeated(environment_of: EnvironmentOf, address: str) -> None:
    with pytest.raises(ProblemsError) as caught:
        environment_of(file(f'python_index = "{address}"'))
    assert "a password or a query would stand in the template" in str(caught.value)
    assert "pa55word" not in str(caught.value)


def test_what_is_not_built_needs_no_mirror(environment_of: EnvironmentOf) -> None:
    text = file(f'base_repository = "{MIRROR}"', kind="text")
    with pytest.raises(ProblemsError, match=r"builds\.base_repository goes with kind = 'decision' only"):
        environment_of(text)
    hub = f'hf_repo = "a/b"\nhf_file = "c.gguf"\nrevision = "{"a" * 40}"'
    with pytest.raises(ProblemsError, match=r"\[builds\] does not go with model\.hf_repo: nothing is built"):
        environment_of(text.replace('preset = "embedded"', hub))


@pytest.mark.parametrize("place", ["", 'region = "eu-central-1"', 'region = "us-gov-west-1"'])
def test_the_base_is_the_mirrors_under_the_pinned_digest(environment_of: EnvironmentOf, place: str) -> None:
    found = environment_of(file(f'base_repository = "{MIRROR}"', place=place)).base_image
    assert str(found) == f"{MIRROR}@{base_image('cpu').digest}"


def test_the_digest_is_the_pin_whatever_registry_has_it(
    environment_of: EnvironmentOf, example_lock: Callable[[Environment], Lock]
) -> None:
    mirrored = environment_of(file(f'base_repository = "{MIRROR}"'))
    built_from_public = example_lock(mirrored)
    check_lock(built_from_public, mirrored, source="x", bases=True)
    image = built_from_public.image.model_copy(update={"base": base_image("cuda")})
    other = built_from_public.model_copy(update={"image": image})
    with pytest.raises(ProblemsError, match=f"adapter_image/dlc.toml pins '{MIRROR}@"):
        check_lock(other, mirrored, source="x", bases=True)
